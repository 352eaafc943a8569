/** The image can't be built everywhere; that its recipe is sound, and that what it copies is enough to run, is checked here. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Copy, DockerfileParser, From, JSONInstruction } from 'dockerfile-ast';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { compiled } from '../support/compiled.ts';
import { documentOf, runNode } from '../cli/cli.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';

const file = DockerfileParser.parse(readFileSync('Dockerfile', 'utf8'));
const instructions = file.getInstructions();
const stages: { readonly from: From; readonly name: string; readonly lines: typeof instructions }[] = [];
for (const instruction of instructions) {
  if (instruction instanceof From) stages.push({ from: instruction, name: instruction.getBuildStage() ?? '', lines: [] });
  else stages.at(-1)?.lines.push(instruction);
}
const copies = (lines: typeof instructions): { readonly stage: string | null; readonly sources: readonly string[]; readonly to: string }[] =>
  lines.filter((line) => line instanceof Copy).map((line) => {
    const words = line.getArguments().map((argument) => argument.getValue());
    return { stage: line.getFromFlag()?.getValue() ?? null, sources: words.slice(0, -1), to: words.at(-1) ?? '' };
  });
const last = stages.at(-1);

describe('the Dockerfile', () => {
  test('starts from a pinned release, and uses each stage that it makes', () => {
    const made = stages.slice(0, -1).map(({ name }) => name);
    const used = new Set([...stages.map(({ from }) => from.getImage()), ...stages.flatMap(({ lines }) => copies(lines).map(({ stage }) => stage))]);
    for (const name of made) expect([name, used.has(name)]).toEqual([name, true]);
    const outer = stages.map(({ from }) => from.getImage() ?? '').filter((image) => !made.includes(image));
    expect(outer.length).toBeGreaterThan(0);
    for (const image of outer) expect(image).toMatch(/^node:20\.\d+\.\d+-[a-z]+-slim$/);
  });

  test('copies only what is there and what .dockerignore lets through', () => {
    const sent = readFileSync('.dockerignore', 'utf8').split('\n').filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    for (const source of stages.flatMap(({ lines }) => copies(lines)).filter(({ stage }) => stage === null).flatMap(({ sources }) => sources)) {
      expect([source, existsSync(source)]).toEqual([source, true]);
      expect(sent).toContain(source.split('/')[0]);
    }
    for (const secret of ['.env', '.git', '.throughline', 'node_modules']) expect(sent).not.toContain(secret);
  });

  test('runs as nobody special, without a shell between, with a health check; installs from the lock alone', () => {
    const words = (keyword: string): string[] => (last?.lines.filter((line) => line.getKeyword() === keyword) ?? []).map((line) => line.getArgumentsContent() ?? '');
    expect(words('USER')).toEqual(['node']);
    const entry = last?.lines.find((line) => line.getKeyword() === 'ENTRYPOINT');
    expect(entry instanceof JSONInstruction && entry.getOpeningBracket() !== null).toBe(true);
    expect(words('HEALTHCHECK')).toHaveLength(1);
    for (const line of instructions.filter((one) => one.getKeyword() === 'RUN')) expect(line.getArgumentsContent()).not.toMatch(/npm (install|i)\b/);
    expect(readFileSync('Dockerfile', 'utf8')).toContain('npm ci --omit=dev');
  });
});

describe('what the image holds', () => {
  let folder: string;
  let ledger: Ledger;
  beforeAll(async () => {
    ledger = await openLedger();
    // The last stage, put together by its own COPY lines; `npm ci` and `npm run build` stand for themselves.
    folder = mkdtempSync(join(tmpdir(), 'throughline-image-'));
    for (const { stage, sources, to } of copies(last?.lines ?? [])) {
      for (const source of sources) {
        const at = stage === null ? source : source.replace('/app/', '');
        const target = join(folder, to.endsWith('/') ? join(to, at.split('/').at(-1) ?? '') : to);
        mkdirSync(dirname(target), { recursive: true });
        if (at === 'node_modules') symlinkSync(resolve(at), target);
        else cpSync(stage === 'build' ? compiled(at.replace(/^dist/, 'src')) : at, target, { recursive: true });
      }
    }
  });
  afterAll(async () => {
    await ledger.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('is enough to bring the schema up to date and to load the example tasks', async () => {
    const run = (...args: string[]) => runNode(['dist/cli/main.js', ...args, '--json'], { cwd: folder, env: { DATABASE_URL: ledger.url } });
    expect(documentOf(await run('migrate'))).toEqual({ applied: [] });
    expect(documentOf(await run('enqueue', 'hello', '--tasks', 'deploy/tasks.js', '--input', '{"name": "Ada"}'))).toMatchObject({ created: true });
  });

  test('tells the engine how the process is', async () => {
    let status = 200;
    const server = createServer((_, response) => response.writeHead(status).end());
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const env = { HEALTH_URL: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/healthz` };
    const check = async (): Promise<number | null> => (await runNode(['deploy/healthcheck.js'], { cwd: folder, env })).code;
    expect(await check()).toBe(0);
    status = 503;
    expect(await check()).toBe(1);
    server.close();
    server.closeAllConnections();
    expect(await check()).toBe(1);
  });
});

test('the scripts of package.json and the recipe agree on how the build is made', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const needed = /tsconfig[.\w]*\.json/g.exec(scripts['build'] ?? '')?.[0] ?? '';
  const sources = copies(stages.find(({ name }) => name === 'build')?.lines ?? []).flatMap((copy) => copy.sources);
  expect(sources).toEqual(expect.arrayContaining([needed, 'src', 'package-lock.json']));
  expect(spawnSync('sh', ['-n'], { input: scripts['build'] ?? '' }).status).toBe(0);
});
