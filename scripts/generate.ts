/**
 * Writes what is generated from src/state: the rule table's rows, docs/state-machine.md, docs/openapi.json from src/api, and the
 * codes in docs/api.md. With `--check`
 * it writes nothing and fails if a file differs from what it would write. (schema.sql, the canonical dump of
 * the database, needs a database and is compared by test/ledger/schema.test.ts.)
 */
import { readFile, writeFile } from 'node:fs/promises';
import { auditMarkdown } from './generate-audit.ts';
import { apiMarkdown } from './generate-api-codes.ts';
import { openapiJson } from './generate-openapi.ts';
import { rulesSql } from './generate-rules.ts';
import { stateMachineMarkdown } from './generate-state-machine.ts';

const FILES: Readonly<Record<string, () => string | Promise<string>>> = {
  'migrations/repeatable/rules.sql': rulesSql,
  'docs/state-machine.md': stateMachineMarkdown,
  'docs/audit.md': auditMarkdown,
  'docs/openapi.json': openapiJson,
  'docs/api.md': apiMarkdown,
};

const check = process.argv.includes('--check');
let stale = 0;
for (const [path, render] of Object.entries(FILES)) {
  const wanted = await render();
  const url = new URL(`../${path}`, import.meta.url);
  const present = await readFile(url, 'utf8').catch(() => '');
  if (present === wanted) continue;
  if (check) {
    stale += 1;
    process.stderr.write(`${path} is not what the source says: run \`npm run generate\`\n`);
  } else {
    await writeFile(url, wanted);
    process.stdout.write(`${path} written\n`);
  }
}
process.exitCode = stale > 0 ? 1 : 0;
