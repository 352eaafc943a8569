import { describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Line {
  readonly name: string;
  readonly taskId: string;
  readonly status: string;
  readonly steps: Readonly<Record<string, string>>;
  readonly wrong: readonly string[];
  readonly headline: string;
  readonly story: readonly unknown[];
  readonly platform: { readonly posts: number; readonly pictures: number };
}

describe('npm run demo -- --once --json', () => {
  test('tells eight stories that end as they must, one JSON object a line', async () => {
    const { NODE_OPTIONS: _, TEMPORAL_ADDRESS: _address, ...env } = process.env;
    const child = spawn(process.execPath, ['--import', 'tsx', 'examples/note-publishing/demo.ts', '--once', '--json'], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => { stdout += chunk.toString(); });
    child.stderr.on('data', (chunk: Buffer) => { stderr += chunk.toString(); });
    const tooLong = setTimeout(() => child.kill('SIGTERM'), 320_000);
    const [code] = (await once(child, 'exit')) as [number | null];
    clearTimeout(tooLong);
    const lines = stdout.trim().split('\n').map((line) => JSON.parse(line) as Line);
    expect({ code, wrong: lines.flatMap(({ wrong }) => wrong), stderr: code === 0 ? '' : stderr.slice(-2_000) }).toEqual({ code: 0, wrong: [], stderr: '' });
    expect(lines.map(({ name, status, platform }) => ({ name, status, posts: platform.posts, pictures: platform.pictures }))).toEqual([
      { name: 'published', status: 'succeeded', posts: 1, pictures: 2 },
      { name: 'lost-answer', status: 'succeeded', posts: 1, pictures: 3 },
      { name: 'cancel-before-retry', status: 'cancelled', posts: 0, pictures: 2 },
      { name: 'cancel-too-late', status: 'succeeded', posts: 1, pictures: 3 },
      { name: 'worker-killed', status: 'succeeded', posts: 1, pictures: 3 },
      { name: 'lost-without-keys', status: 'succeeded', posts: 1, pictures: 3 },
      { name: 'authorization-revoked', status: 'succeeded', posts: 1, pictures: 2 },
      { name: 'foreign-receipts', status: 'succeeded', posts: 1, pictures: 3 },
    ]);
    expect(lines[2]?.headline).toContain('the cancel came before the retry, and nothing was published');
    for (const { story, steps } of lines) {
      expect(story.length).toBeGreaterThan(5);
      expect(Object.keys(steps)).toEqual(['render', 'review', 'publish']);
    }
  }, 360_000);
});
