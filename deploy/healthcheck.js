/* global AbortSignal, fetch, process */
// Asks the process in this container how it is; HEALTH_URL names another place than a worker's.
const url = process.env.HEALTH_URL ?? 'http://127.0.0.1:9464/healthz';
const answer = await fetch(url, { signal: AbortSignal.timeout(4_000) }).catch(() => undefined);
process.exit(answer?.ok === true ? 0 : 1);
