/** `throughline dev`: a stack that a person starts, uses and stops. */
import { expect, test } from '@jest/globals';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cli, documentOf, startCli, type Failure } from './cli.ts';

interface Up {
  readonly env: Readonly<Record<string, string>>;
  readonly temporal_ui_url: string;
  readonly api_url: string;
  readonly api_token: string;
  readonly data_dir: string;
}

test('dev starts both servers and the API, migrated, says how to use them, and Ctrl-C stops all with 0', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-cli-dev-'));
  chmodSync(folder, 0o755);
  try {
    const dev = startCli(['dev', '--data-dir', folder, '--json'], {});
    const up = JSON.parse(await dev.line()) as Up;
    expect(Object.keys(up.env)).toEqual(['DATABASE_URL', 'TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE', 'THROUGHLINE_API_URL', 'THROUGHLINE_API_TOKEN']);
    const [ui, list, second] = await Promise.all([
      fetch(up.temporal_ui_url), cli(['list', '--json'], { env: up.env }), cli(['dev', '--data-dir', folder, '--json'], {}),
    ]);
    expect(ui.status).toBe(200);
    const tasks = (token: string): Promise<Response> => fetch(`${up.api_url}/v1/tasks`, { headers: { authorization: `Bearer ${token}` } });
    expect([(await tasks(up.api_token)).status, (await tasks(`${up.api_token}x`)).status]).toEqual([200, 401]);
    const kept = join(folder, 'api-token');
    expect([readFileSync(kept, 'utf8').trim(), statSync(kept).mode & 0o077]).toEqual([up.api_token, 0]);
    expect([list.code, documentOf(list)]).toMatchObject([0, { rows: [], cursor: null }]);
    expect([second.code, (documentOf(second) as Failure).error.code]).toEqual([4, 'STACK_BUSY']);
    // To the whole group, as a terminal does: the servers must not be stopped by it before their time.
    process.kill(-(dev.child.pid ?? 0), 'SIGINT');
    expect(await dev.ended).toEqual([0, null]);
    for (const url of [up.temporal_ui_url, up.api_url]) await expect(fetch(url)).rejects.toThrow();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('dev uses servers that the environment names, without showing their password', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-cli-dev-'));
  try {
    const said = await cli(['dev', '--data-dir', folder, '--json'], { env: { DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:1/none', TEMPORAL_ADDRESS: '127.0.0.1:1' } });
    expect(said.code).toBe(5);
    expect(said.stderr).toContain('postgres://127.0.0.1:1/none is used');
    expect(said.stdout + said.stderr).not.toContain('hunter2');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
