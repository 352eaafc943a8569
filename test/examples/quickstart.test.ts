import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openLedger } from '../support/ledger.ts';
import { stackAddresses } from '../support/stack.ts';

const run = promisify(execFile);
const quickstart = fileURLToPath(new URL('../../examples/quickstart.ts', import.meta.url));

describe('the README', () => {
  test('shows the quickstart as it is', async () => {
    const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
    const block = /<!-- examples\/quickstart\.ts, the same text -->\n```ts\n([\s\S]*?)```/.exec(readme)?.[1];
    expect(block).toBeDefined();
    expect(await readFile(quickstart, 'utf8')).toContain(block);
  });

  test('its quickstart sends once and ends with a proven success', async () => {
    const ledger = await openLedger();
    const { NODE_OPTIONS: _, ...env } = process.env;
    const { temporalAddress } = stackAddresses();
    const { stdout } = await run(process.execPath, ['--import', 'tsx', quickstart, 'Grace'], {
      env: { ...env, THROUGHLINE_DATABASE_URL: ledger.url, TEMPORAL_ADDRESS: temporalAddress },
      timeout: 90_000,
    });
    expect(stdout.match(/sending under .*: Hello, Grace!/g)).toHaveLength(1);
    expect(stdout).toContain('Succeeded: every step has its accepted proof.');
    await ledger.close();
  }, 120_000);
});
