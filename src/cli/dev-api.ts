/** The local stack's API, with a token that stays the same from start to start. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ThroughlineClient } from '../client/client.ts';
import { readConfig } from '../config.ts';
import type { Stack } from '../dev/index.ts';
import { choosePort } from '../dev/ports.ts';
import { ThroughlineError } from '../errors.ts';
import { API_PORT_DEFAULT, serveApi } from './commands/api.ts';

export interface DevApi {
  readonly url: string;
  readonly token: string | null;
  close(): Promise<void>;
}

const TOKEN_NAME = 'dev';

/** Kept in the stack's folder, for its owner's eyes: a restart must not end what other terminals use. */
async function tokenIn(folder: string, { access }: ThroughlineClient): Promise<string> {
  const file = join(folder, 'api-token');
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (kept !== '' && (await access.identify(kept).catch(() => null)) !== null) return kept;
  await access.revokeToken(TOKEN_NAME).catch((error: unknown) => {
    if (!(error instanceof ThroughlineError) || error.code !== 'TOKEN_UNKNOWN') throw error;
  });
  const { token } = await access.createToken({ name: TOKEN_NAME, role: 'admin' });
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  return token;
}

/** Serves the API of a running stack on 127.0.0.1; `withToken`: the ledger is the stack's own. Throws STACK_FAILED where a demanded port is taken. */
export async function startApi(stack: Stack, withToken: boolean, port: number | undefined): Promise<DevApi> {
  const config = readConfig({ ...process.env, TEMPORAL_ADDRESS: stack.temporalAddress, TEMPORAL_NAMESPACE: stack.temporalNamespace, THROUGHLINE_LOG_LEVEL: process.env['THROUGHLINE_LOG_LEVEL'] ?? 'warn' }, { temporalProfile: false });
  const chosen = await choosePort({ demanded: port, remembered: API_PORT_DEFAULT, taken: new Set() });
  const served = await serveApi({ databaseUrl: stack.databaseUrl, config, host: '127.0.0.1', port: chosen, ...(stack.temporalUiUrl === undefined ? {} : { temporalUi: stack.temporalUiUrl }) });
  try {
    return { url: served.url, token: withToken ? await tokenIn(stack.dataDir, served.client) : null, close: () => served.close() };
  } catch (error) {
    await served.close();
    throw error;
  }
}
