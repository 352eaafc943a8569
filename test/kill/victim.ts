/**
 * What a worker does, without Temporal's worker around it, so that two hundred of them can be killed in minutes: asks
 * the ledger what is due and does it, or sends the wake-ups. Its failpoint (THROUGHLINE_FAILPOINT) ends it; it exits
 * with 0 when nothing is due any more.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { localArtifactStore } from '../../src/activities/artifacts.ts';
import { runAttempt } from '../../src/activities/attempt.ts';
import { runCheck } from '../../src/activities/check.ts';
import { definitionKey, type ActivityDeps } from '../../src/activities/deps.ts';
import { Database, Door } from '../../src/ledger/index.ts';
import { createLogger } from '../../src/worker/log.ts';
import { createE2eTasks, type Outside } from '../support/e2e-tasks.ts';

export interface VictimSettings {
  readonly databaseUrl: string;
  readonly artifacts: string;
  readonly outside: Outside;
  /** Sends wake-ups to this Temporal instead of working. */
  readonly temporal?: { readonly address: string; readonly namespace: string; readonly taskQueue: string };
  /** Ends when so long nothing was due, ms. */
  readonly idleMs: number;
}

const AT_ONCE = 4;
const settings = JSON.parse(process.env['KILL_VICTIM'] ?? '') as VictimSettings;
const holder = `victim:${String(process.pid)}/${randomUUID().slice(0, 8)}`;
const database = new Database({ url: settings.databaseUrl, connectionsMax: 8, applicationName: 'victim', reportsGapsAs: holder });
const door = new Door(database);
const log = createLogger('warn');

/** One pass; false: nothing was due. */
async function send(temporal: NonNullable<VictimSettings['temporal']>): Promise<() => Promise<boolean>> {
  const { Client, Connection } = await import('@temporalio/client');
  const { Dispatcher } = await import('../../src/worker/dispatcher.ts');
  const client = new Client({ connection: await Connection.connect({ address: temporal.address }), namespace: temporal.namespace });
  const dispatcher = new Dispatcher({ door, client, taskQueue: temporal.taskQueue, searchAttributes: false, log });
  return async () => (await dispatcher.runOnce()).taken > 0;
}

function work(): () => Promise<boolean> {
  const deps: ActivityDeps = {
    door, artifacts: localArtifactStore(settings.artifacts), holder, log, shutdown: new AbortController().signal, shutdownGraceMs: 1_000,
    definitions: new Map(Object.values(createE2eTasks(settings.outside)).map((task) => [definitionKey(task.type, task.version), task])),
    offers: () => Promise.resolve(0), requestCancellation: () => Promise.resolve(),
  };
  const one = async (task: string): Promise<boolean> => {
    const { type, version, steps } = await door.taskLook(task, null);
    let did = false;
    for (const { name: step, next } of steps) {
      if (next === undefined || next.in_ms > 0 || next.do === 'watch') continue;
      const input = { task, type, version, step };
      await (next.do === 'attempt' ? runAttempt(deps, input, () => undefined) : runCheck(deps, input));
      did = true;
    }
    return did;
  };
  return async () => {
    const tasks = await database.rows<{ id: string }>('select id from throughline.task where not at_rest order by random() limit 200', []);
    let did = false;
    while (tasks.length > 0) did = (await Promise.all(tasks.splice(0, AT_ONCE).map(({ id }) => one(id)))).some(Boolean) || did;
    return did;
  };
}

const pass = settings.temporal === undefined ? work() : await send(settings.temporal);
let since = performance.now();
while (performance.now() - since < settings.idleMs) {
  if (await pass()) since = performance.now();
  else await delay(40);
}
process.exit(0);
