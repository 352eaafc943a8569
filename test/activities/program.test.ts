/** Real programs, and how they end. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { failureRow } from '../../src/activities/failure.ts';
import { ProgramError, runProgram, type ProgramOptions, type ProgramResult } from '../../src/activities/program.ts';
import { Tail } from '../../src/activities/tail.ts';
import { readThrown } from '../../src/activities/thrown.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'throughline-program-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const free = { signal: new AbortController().signal };
const sh = (script: string, more: Partial<ProgramOptions> = {}, ctx = free): Promise<ProgramResult> => runProgram(ctx, { program: '/bin/sh', args: ['-c', script], ...more });
const node = (code: string, more: Partial<ProgramOptions> = {}, ctx = free): Promise<ProgramResult> => runProgram(ctx, { program: process.execPath, args: ['-e', code], ...more });
async function failure(work: Promise<unknown>): Promise<ProgramError> {
  const thrown = await work.then(() => null, (error: unknown) => error);
  if (thrown instanceof ProgramError) return thrown;
  throw new Error('no ProgramError', { cause: thrown });
}
/** As the ledger would keep it. */
const recorded = async (work: Promise<unknown>): Promise<readonly unknown[]> => {
  const { row, classified } = failureRow(readThrown(await failure(work)), 'execute', {});
  return [row.code, row.category, classified.retryable];
};
const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    // A zombie whose parent has not looked yet is dead.
    return !/^State:\s+Z/m.test(existsSync(`/proc/${String(pid)}/status`) ? readFileSync(`/proc/${String(pid)}/status`, 'utf8') : '');
  } catch {
    return false;
  }
};
const until = async (fact: () => boolean): Promise<void> => {
  while (!fact()) await new Promise((done) => setTimeout(done, 10));
};
const pidIn = (file: string): number => Number(readFileSync(file, 'utf8').trim());
const written = (file: string): Promise<void> => until(() => existsSync(file) && readFileSync(file, 'utf8').includes('\n'));

describe('what comes out', () => {
  test('outputs apart, exit code, input read', async () => {
    expect(await sh('cat; echo oops >&2', { input: 'grüße' })).toMatchObject({ exitCode: 0, stdout: { text: 'grüße', bytes: 7, cut: 0 }, stderr: { text: 'oops\n', bytes: 5, cut: 0 } });
  });

  test('arguments reach the program as they are: no shell splits or expands them', async () => {
    const args = ['$HOME', '; rm -rf x', '`id`', "a 'b' \"c\"", '*', ''];
    expect(JSON.parse((await runProgram(free, { program: process.execPath, args: ['-e', 'console.log(JSON.stringify(process.argv.slice(1)))', '--', ...args] })).stdout.text)).toEqual(args);
  });

  test('nothing of the worker\'s environment but the harmless; what is given is added', async () => {
    process.env['DATABASE_URL'] = 'postgres://user:secret@h/d';
    const { stdout } = await node('console.log(Object.keys(process.env).filter((k) => !k.startsWith("__")).sort().join())', { env: { FONT: 'x' } });
    delete process.env['DATABASE_URL'];
    expect(stdout.text.trim().split(',')).toContain('FONT');
    expect(stdout.text.trim().split(',').filter((name) => !['PATH', 'HOME', 'TMPDIR', 'LANG', 'LC_ALL', 'TZ', 'FONT'].includes(name))).toEqual([]);
  });

  test('of 50 MB only the end is kept, and how much was cut is said', async () => {
    const before = process.memoryUsage().rss;
    const { stderr } = await node(`
      const line = Buffer.alloc(1024 * 1024, 'x');
      const write = (n) => { if (n === 0) process.stderr.write('the end'); else process.stderr.write(line, () => write(n - 1)); };
      write(50);`, { keepBytes: 1_000 });
    expect([stderr.bytes, stderr.cut, stderr.text.length]).toEqual([50 * 1024 * 1024 + 7, 50 * 1024 * 1024 - 993, 1_000]);
    expect(stderr.text).toMatch(/x+the end$/);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });

  test('a program that does not read 10 MB of input is no failure', async () => {
    expect(await sh('exit 0', { input: Buffer.alloc(10 * 1024 * 1024) })).toMatchObject({ exitCode: 0 });
  });

  test('any stream, in any pieces, is kept to its end and never from the middle of a character', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme', minLength: 1 })), fc.integer({ min: 4, max: 40 }), fc.integer({ min: 1, max: 7 }), (parts, keep, piece) => {
        const all = Buffer.from(parts.join(''));
        const tail = new Tail(keep);
        for (let i = 0; i < all.byteLength; i += piece) tail.add(all.subarray(i, i + piece));
        const { text, bytes, cut } = tail.captured();
        expect([bytes, text]).toEqual([all.byteLength, all.subarray(cut).toString('utf8')]);
        if (!parts.join('').includes('\uFFFD')) expect(text).not.toContain('\uFFFD');
        expect(bytes - cut).toBeLessThanOrEqual(keep);
        expect(bytes - cut).toBeGreaterThanOrEqual(Math.min(bytes, keep - 3));
      }),
      { numRuns: 100 },
    );
  });
});

describe('how it failed', () => {
  test.each<[string, string, Partial<ProgramOptions>, readonly unknown[]]>([
    ['an exit code', 'exit 3', {}, ['EXIT_3', 'programming_error', false]],
    ['an exit code with a declared meaning', 'exit 3', { exits: { 3: 'congested' } }, ['EXIT_3', 'congested', true]],
    ['"try later" of sysexits.h', 'exit 75', {}, ['EXIT_75', 'unavailable', true]],
    ['an input that it refuses, of sysexits.h', 'exit 65', {}, ['EXIT_65', 'invalid_input', false]],
    ['SIGKILL, as when memory is short', 'kill -KILL $$', {}, ['SIGKILL', 'worker_lost', true]],
    ['SIGSEGV', 'kill -SEGV $$', {}, ['SIGSEGV', 'programming_error', false]],
    ['SIGTERM that was not ours', 'kill -TERM $$', {}, ['SIGTERM', 'worker_lost', true]],
    ['a signal with a declared meaning', 'kill -USR1 $$', { signals: { SIGUSR1: 'resource_gone' } }, ['SIGUSR1', 'resource_gone', false]],
    ['a child of a shell that SIGKILL ended', 'sh -c "kill -KILL \\$\\$"; exit $?', {}, ['EXIT_137', 'worker_lost', true]],
    ['success that was not declared as one', 'exit 0', { success: [1] }, ['EXIT_0', 'programming_error', false]],
  ])('%s', async (_, script, options, expected) => {
    expect(await recorded(sh(script, options))).toEqual(expected);
  });

  test('a code that is declared as success is none', async () => {
    expect(await sh('exit 1', { success: [0, 1] })).toMatchObject({ exitCode: 1 });
  });

  test('the message says how, and the last of stderr; exit 0 with complaints is no failure', async () => {
    const error = await failure(sh('i=0; while [ $i -lt 400 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 9'));
    expect(error.message).toMatch(/^\/bin\/sh ended with exit code 9; stderr: … \(\d+ bytes in all\) [\s\S]*line 399$/);
    expect(error.message.length).toBeLessThan(1_200);
    expect(error.end).toMatchObject({ exitCode: 9, signal: null, stdout: { text: '' } });
    expect(await sh('echo broken >&2')).toMatchObject({ exitCode: 0, stderr: { text: 'broken\n' } });
  });

  test('a program that is not there, is none, or may not be run, and a folder that is not there', async () => {
    const text = join(folder, 'text');
    writeFileSync(text, 'no program');
    chmodSync(text, 0o600);
    for (const work of [runProgram(free, { program: 'no-such-program-anywhere' }), runProgram(free, { program: text }), sh('exit 0', { cwd: join(folder, 'nowhere') }), sh('exit 0', { env: { LONG: 'x'.repeat(10 * 1024 * 1024) } })]) {
      expect(await recorded(work)).toEqual(['NOT_STARTED', 'programming_error', false]);
    }
  });

  test.each<[string, Partial<ProgramOptions>]>([['program', { program: '' }], ['keepBytes', { keepBytes: 0 }], ['keepBytes', { keepBytes: 2 ** 30 }], ['timeout', { timeout: 0 }], ['timeout', { timeout: 'soon' as '1s' }], ['grace', { grace: -1 }]])('a bad %s is refused before anything runs', async (path, options) => {
    await expect(sh('exit 0', options)).rejects.toMatchObject({ code: 'DEFINITION_INVALID', detail: { path: `/${path}` } });
  });
});

describe('how it is stopped', () => {
  test('one that hangs ends by SIGTERM at its time limit', async () => {
    const error = await failure(sh('sleep 600', { timeout: 200 }));
    expect([error.code, error.category, error.end.signal]).toEqual(['TIMED_OUT', 'timeout', 'SIGTERM']);
  });

  test('one that does not hear SIGTERM ends by SIGKILL after the grace', async () => {
    const error = await failure(sh("trap 'echo heard >&2' TERM; echo ready >&2; while :; do sleep 0.05; done", { timeout: 3_000, grace: 1_000 }));
    expect([error.code, error.end.signal]).toEqual(['TIMED_OUT', 'SIGKILL']);
    // Some shells also say that the command they waited for was terminated.
    expect(error.end.stderr.text).toMatch(/^ready\n[\s\S]*heard\n$/);
  });

  test('an abort stops it, and everything that it started, before the reason is thrown', async () => {
    const stop = new AbortController();
    const [child, grandchild] = [join(folder, 'child'), join(folder, 'grandchild')];
    const running = sh(`echo $$ > ${child}; (trap '' TERM; exec sh -c 'echo $$ > ${grandchild}; while :; do sleep 1; done') & wait`, { grace: 200 }, stop);
    await Promise.all([written(child), written(grandchild)]);
    const reason = new Error('a cancel was asked');
    stop.abort(reason);
    expect(await running.then(() => null, (error: unknown) => error)).toBe(reason);
    await until(() => !alive(pidIn(child)) && !alive(pidIn(grandchild)));
  });

  test('aborted before, it is not started', async () => {
    const mark = join(folder, 'mark');
    await expect(sh(`touch ${mark}`, {}, { signal: AbortSignal.abort(new Error('too late')) })).rejects.toThrow('too late');
    expect(existsSync(mark)).toBe(false);
  });

  test('what it leaves behind is killed, whether or not it holds the outputs open', async () => {
    for (const [name, redirect] of [['loud', ''], ['quiet', '>/dev/null 2>&1 </dev/null']] as const) {
      const file = join(folder, name);
      expect(await sh(`(exec sh -c 'echo $$ > ${file}; exec sleep 600') ${redirect} & while [ ! -s ${file} ]; do sleep 0.01; done; echo done`)).toMatchObject({ exitCode: 0, stdout: { text: 'done\n' } });
      await until(() => !alive(pidIn(file)));
    }
  });

  test('a worker that is killed leaves no program running, not even one that has just begun', async () => {
    const files = Array.from({ length: 4 }, (_, n) => join(folder, `orphan-${String(n)}`));
    const code = `import { runProgram } from ${JSON.stringify(resolve('src/activities/program.ts'))};
      await Promise.all(${JSON.stringify(files)}.map((file) => runProgram({ signal: new AbortController().signal }, { program: '/bin/sh', args: ['-c', 'echo $$ > ' + file + '; exec sleep 600'] })));`;
    const worker = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], { stdio: 'ignore' });
    await Promise.race(files.map(written));
    worker.kill('SIGKILL');
    await new Promise((done) => worker.once('exit', done));
    const begun = files.filter((file) => existsSync(file) && readFileSync(file, 'utf8').includes('\n'));
    expect(begun.length).toBeGreaterThan(0);
    await until(() => begun.every((file) => !alive(pidIn(file))));
  });
});
