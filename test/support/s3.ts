/** A real server that speaks as S3 does, as a process: moto's, where Python has it or pip can bring it. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const VENV = resolve('node_modules/.cache/throughline-moto');

/** The Python that has it; null: there is none, and none can be had. */
async function pythonWithMoto(): Promise<string | null> {
  const has = async (python: string): Promise<boolean> => run(python, ['-c', 'import moto.server']).then(() => true, () => false);
  const own = `${VENV}/bin/python`;
  for (const python of ['python3', own]) if ((python === 'python3' || existsSync(python)) && (await has(python))) return python;
  try {
    await run('python3', ['-m', 'venv', VENV]);
    await run(own, ['-m', 'pip', 'install', '--quiet', 'moto[s3,server]>=5.1,<6'], { timeout: 120_000 });
    return (await has(own)) ? own : null;
  } catch {
    return null;
  }
}

export const S3_PYTHON = await pythonWithMoto();

export interface S3Server {
  readonly endpoint: string;
  stop(): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

export async function startS3(): Promise<S3Server> {
  if (S3_PYTHON === null) throw new Error('no S3 server');
  const port = await freePort();
  const child: ChildProcess = spawn(S3_PYTHON, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  const endpoint = `http://127.0.0.1:${String(port)}`;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the S3 server ended with ${String(child.exitCode)}`);
    if (await fetch(endpoint).then(() => true, () => false)) break;
    await new Promise((done) => setTimeout(done, 50));
  }
  return {
    endpoint,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
