/**
 * `npm run fuzz:api`: a real API over a real ledger with tasks in it, and schemathesis against its OpenAPI document. Fails at a 500, and at
 * an answer that the document does not describe. Further options are schemathesis' own: `npm run fuzz:api -- --seed 7 --max-examples 200`.
 * Takes `schemathesis` from PATH, else installs it by pip into `.throughline/schemathesis`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { createApi } from '../src/api/index.ts';
import { startStack } from '../src/dev/index.ts';
import { createClient, Database, defineTask, migrate } from '../src/index.ts';
import { schemathesisProgram } from './fuzz-program.ts';

const CHECKS = 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance';

const greet = defineTask({
  type: 'greet', version: 1, input: z.object({ name: z.string() }),
  steps: (flow) => flow.step('say', { result: z.object({ text: z.string() }), proof: { record: ['/text'] }, run: async ({ input }) => Promise.resolve({ text: `Hello, ${input.name}` }) }),
});

const schemathesis = schemathesisProgram();
const stack = await startStack({ dataDir: mkdtempSync(join(tmpdir(), 'throughline-fuzz-')), temporary: true, temporal: false, log: (line) => process.stderr.write(`${line}\n`) });
const database = new Database({ url: stack.databaseUrl, connectionsMax: 1 });
await migrate(database);
await database.end();
const client = createClient({ databaseUrl: stack.databaseUrl, by: 'fuzz' });
const api = await createApi({ client, requestsPerMinute: 1_000_000, refusalsPerMinute: 1_000_000 });
try {
  const { id } = await client.enqueue(greet, { name: 'Ada' });
  const { token } = await client.access.createToken({ name: 'fuzz', role: 'admin' });
  const url = await api.listen({ host: '127.0.0.1', port: 0 });
  process.stderr.write(`The API is at ${url}; a task that is there: ${id}\n`);
  // A stream has no end, and would be waited for.
  // Links that it infers from Location headers confuse our collections with one another; its analysis of the description stays on.
  const folder = mkdtempSync(join(tmpdir(), 'throughline-fuzz-'));
  const config = join(folder, 'schemathesis.toml');
  writeFileSync(config, '[phases.stateful.inference]\nalgorithms = ["dependency-analysis"]\n');
  const args = ['--config-file', config, 'run', `${url}/openapi.json`, '--header', `Authorization: Bearer ${token}`, '--exclude-path', '/v1/events', '--checks', CHECKS, '--max-examples', '40', '--suppress-health-check', 'all', '--request-timeout', '60', ...process.argv.slice(2)];
  const [code] = (await once(spawn(schemathesis, args, { stdio: 'inherit', cwd: folder }), 'close')) as [number | null];
  process.exitCode = code ?? 1;
} finally {
  await api.close();
  await client.close();
  await stack.stop();
}
