/**
 * Kills processes at named failpoints while they work on tasks of four kinds (with keys and without, with receipts and
 * without), lets others go on, and compares what the platforms saw with what the ledger says. Repeatable from its seed
 * up to the order in which processes happen to run.
 */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { NewFault } from '../../examples/note-publishing/platform/faults.ts';
import type { PlatformProcess } from '../../examples/note-publishing/platform/process.ts';
import { FAILPOINTS } from '../../src/failpoint.ts';
import type { View } from '../../src/index.ts';
import { createE2eTasks, type Outside } from '../support/e2e-tasks.ts';
import { disagreements } from '../support/e2e-books.ts';
import { Stage } from '../support/e2e.ts';
import { startPlatform } from '../support/platform.ts';
import { findings } from '../support/soundness.ts';
import { stackAddresses } from '../support/stack.ts';
import type { VictimSettings } from './victim.ts';

export interface CampaignOptions {
  readonly seed: number;
  /** How many kills. The first ones go through the points in order, once each; the others are drawn. */
  readonly kills: number;
  /** Default: all of them. */
  readonly points?: readonly string[];
  readonly log?: (line: string) => void;
}

export interface CampaignReport {
  readonly seed: number;
  readonly kills: number;
  /** Kills at each point. */
  readonly at: Readonly<Record<string, number>>;
  /** Processes that had nothing left to do before their point was reached. */
  readonly spared: number;
  readonly tasks: number;
  readonly ends: Readonly<Record<string, number>>;
  readonly counts: {
    readonly attempts: number; readonly rescues: number; readonly resent_same_key: number; readonly looks: number; readonly replays: number;
    readonly requests: number; readonly acted: number; readonly deduped: number; readonly answers_lost: number;
  };
  /** An item of a task's effect that acted more than once, on either platform. */
  readonly duplicates: readonly string[];
  /** Where the platforms' logs and the ledger's effects differ. */
  readonly disagreements: readonly string[];
  /** Broken promises of the ledger. */
  readonly findings: Readonly<Record<string, unknown>>;
  /** Tasks without a run in Temporal after the wake-ups were sent. */
  readonly undriven: number;
  readonly took_ms: number;
}

const KINDS = ['post', 'direct', 'postWithoutKeys', 'directWithoutKeys', 'plain'] as const;
const ANSWERS: readonly NewFault['kind'][] = ['lost_answer', 'timeout_after', 'lost_request', 'slow_answer', 'unavailable'];
/** Points that only some lives pass. */
const PASSED_BY: Readonly<Record<string, { readonly kind: (typeof KINDS)[number]; readonly fault: NewFault | null }>> = {
  lease_renew: { kind: 'post', fault: { kind: 'timeout_after', nth: 1 } }, checkpoint_put: { kind: 'plain', fault: null }, probe_result: { kind: 'directWithoutKeys', fault: { kind: 'lost_answer', nth: 1 } },
};
/** Past every lease, every hold of a check and of a wake-up. */
const SHIFT_MS = 45_000;
const OPEN_TASKS = 4;
/** Passed by whoever sends the wake-ups. */
const OF_THE_DISPATCHER = /^(outbox_|signal)/;

const dice = (seed: number): ((below: number) => number) => {
  let n = 0;
  return (below) => {
    n += 1;
    return createHash('sha256').update(`${String(seed)}/${String(n)}`).digest().readUInt32BE() % below;
  };
};

class Campaign {
  readonly #stage: Stage;
  readonly #keyless: PlatformProcess;
  readonly #outside: Outside;
  readonly #roll: (below: number) => number;
  readonly #log: (line: string) => void;
  readonly #tasks = new Map<string, (typeof KINDS)[number]>();
  readonly #at: Record<string, number> = {};
  #spared = 0;
  #replays = 0;

  readonly #program: string;

  constructor(stage: Stage, keyless: PlatformProcess, program: string, options: CampaignOptions) {
    this.#stage = stage;
    this.#program = program;
    this.#keyless = keyless;
    this.#outside = { ...stage.outside, keyless: keyless.address, leaseMs: 3_000, retryMs: 100, callTimeoutMs: 1_000 };
    this.#roll = dice(options.seed);
    this.#log = options.log ?? (() => undefined);
  }

  #platformOf(kind: (typeof KINDS)[number]): PlatformProcess {
    return kind.endsWith('WithoutKeys') ? this.#keyless : this.#stage.platform;
  }

  async #enqueue(point: string): Promise<void> {
    const wanted = Object.entries(PASSED_BY).find(([name]) => point.startsWith(name))?.[1];
    const kind = wanted?.kind ?? KINDS[this.#roll(KINDS.length)] ?? 'post';
    const fault: NewFault | null = wanted !== undefined ? wanted.fault : this.#roll(3) === 0 ? { kind: ANSWERS[this.#roll(ANSWERS.length)] ?? 'lost_answer', nth: 1 + this.#roll(2), ms: 300 } : null;
    const tasks = createE2eTasks(this.#outside);
    const id = await this.#stage.start(tasks[kind], { n: this.#tasks.size }, fault === null ? undefined : (task) => this.#platformOf(kind).admin.addFault({ ...fault, task }));
    this.#tasks.set(id, kind);
  }

  /** Runs one process to its end. True: it was killed at its point. */
  async #run(failpoint: string, dispatches: boolean, idleMs: number): Promise<boolean> {
    const { temporalAddress: address, temporalNamespace: namespace } = stackAddresses();
    const settings: VictimSettings = {
      databaseUrl: this.#stage.ledger.url, artifacts: join(this.#stage.folder, 'artifacts'), outside: this.#outside, idleMs,
      ...(dispatches ? { temporal: { address, namespace, taskQueue: this.#stage.taskQueue } } : {}),
    };
    const env: NodeJS.ProcessEnv = { ...process.env, KILL_VICTIM: JSON.stringify(settings), THROUGHLINE_FAILPOINT: failpoint };
    delete env['NODE_OPTIONS'];
    const child = spawn(process.execPath, [this.#program], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let complaint = '';
    child.stderr.on('data', (chunk: Buffer) => { complaint = (complaint + chunk.toString('utf8')).slice(-4_000); });
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    if (signal === null && code !== 0) throw new Error(`a process ended with ${String(code)}: ${complaint}`);
    return signal === 'SIGKILL';
  }

  /** What was under way has reached its platform: two answers to questions that were asked later. */
  async #settled(): Promise<void> {
    for (const { admin } of [this.#stage.platform, this.#keyless]) for (let n = 0; n < 2; n += 1) await admin.faults();
  }

  async #open(): Promise<number> {
    const [row] = await this.#stage.ledger.query<{ n: number }>('select count(*)::int as n from throughline.task where not at_rest');
    return row?.n ?? 0;
  }

  async kill(point: string): Promise<void> {
    const dispatches = OF_THE_DISPATCHER.test(point);
    for (let tries = 0; tries < 5; tries += 1) {
      do await this.#enqueue(point); while ((await this.#open()) < OPEN_TASKS);
      const killed = await this.#run(`${point}:${String(1 + this.#roll(tries === 0 ? 3 : 1))}`, dispatches, dispatches ? 200 : 1_500);
      await this.#settled();
      await this.#stage.ledger.shiftClock(SHIFT_MS);
      if (killed) {
        this.#at[point] = (this.#at[point] ?? 0) + 1;
        return;
      }
      this.#spared += 1;
    }
    throw new Error(`nothing passes ${point}`);
  }

  /** One task whose every attempt dies with its process, and others that come in between. */
  async everyAttempt(): Promise<{ readonly hopeless: string; readonly others: readonly string[] }> {
    const tasks = createE2eTasks(this.#outside);
    // Only it passes the checkpoint.
    const hopeless = await this.#stage.start(tasks.plain, {});
    const others: string[] = [];
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      if (!(await this.#run('checkpoint_put.before', false, 10_000))) throw new Error(`attempt ${String(attempt)} was not killed`);
      await this.#settled();
      await this.#stage.ledger.shiftClock(SHIFT_MS);
      if (attempt < 3) others.push(await this.#stage.start(tasks.direct, { n: attempt }));
    }
    await this.#run('', false, 2_000);
    return { hopeless, others };
  }

  /** Nobody is killed any more: everything comes to rest, and what died of too many kills is replayed by name. */
  async finish(): Promise<void> {
    for (let rounds = 0; rounds < 30; rounds += 1) {
      await this.#run('', false, 1_500);
      await this.#settled();
      const dead = await this.#stage.ledger.query<{ id: string; reason: string }>("select id, reason from throughline.task where status = 'dead'");
      for (const { id, reason } of dead) {
        // Refused where something is still open outside: it stays dead, and is counted so.
        await this.#stage.client.replay(id, { by: 'operator:oda', why: 'killed too often' }).then(
          () => { this.#replays += 1; },
          (error: unknown) => { this.#log(`${id} is dead (${reason}), and its replay is refused: ${String(error)}`); },
        );
      }
      if (dead.length === 0 && (await this.#open()) === 0) break;
      await this.#stage.ledger.shiftClock(SHIFT_MS);
    }
    await this.#run('', true, 500);
  }

  async report(options: CampaignOptions, began: number): Promise<CampaignReport> {
    const { ledger, client, temporal } = this.#stage;
    const duplicates: string[] = [];
    const wrong: string[] = [];
    let [requests, acted, deduped, undriven] = [0, 0, 0, 0];
    for (const [task, kind] of this.#tasks) {
      const log = await this.#platformOf(kind).admin.log({ task });
      wrong.push(...disagreements(await client.record(task), log));
      const writes = log.filter(({ route }) => route === 'upload_picture' || route === 'publish_post');
      requests += writes.length;
      deduped += writes.filter(({ did }) => did === 'deduped').length;
      const did = writes.filter((entry) => entry.did === 'acted');
      acted += did.length;
      for (const route of ['upload_picture', 'publish_post']) if (did.filter((entry) => entry.route === route).length > 1) duplicates.push(`${task} (${kind}): ${route}`);
      await temporal.workflow.getHandle(`task/${task}`).describe().catch(() => { undriven += 1; });
    }
    const ends = await ledger.query<{ status: string; n: number }>('select status, count(*)::int as n from throughline.task group by 1');
    const [counts] = await ledger.query<{ attempts: number; rescues: number; resent: number; looks: number; lost: number }>(`
      select count(*) filter (where event = 'claim')::int as attempts, count(*) filter (where event = 'expire')::int as rescues, count(*) filter (where reason = 'resend_same_key')::int as resent,
        count(*) filter (where event in ('present', 'absent', 'inconclusive'))::int as looks, count(*) filter (where to_state = 'unconfirmed' and from_state <> 'unconfirmed')::int as lost
      from throughline.timeline where kind = 'transition'`);
    const kills = Object.values(this.#at).reduce((sum, n) => sum + n, 0);
    return {
      seed: options.seed, kills, at: this.#at, spared: this.#spared, tasks: this.#tasks.size, ends: Object.fromEntries(ends.map(({ status, n }) => [status, n])),
      counts: { attempts: counts?.attempts ?? 0, rescues: counts?.rescues ?? 0, resent_same_key: counts?.resent ?? 0, looks: counts?.looks ?? 0, replays: this.#replays, requests, acted, deduped, answers_lost: counts?.lost ?? 0 },
      duplicates, disagreements: wrong, findings: await findings(ledger), undriven, took_ms: Math.round(performance.now() - began),
    };
  }

  async all(options: CampaignOptions): Promise<CampaignReport> {
    const began = performance.now();
    const points = options.points ?? FAILPOINTS;
    for (let n = 0; n < options.kills; n += 1) {
      const point = points[n < points.length ? n : this.#roll(points.length)] ?? '';
      await this.kill(point);
      this.#log(`${String(n + 1)}/${String(options.kills)} killed at ${point}`);
    }
    await this.finish();
    return this.report(options, began);
  }
}

/** The process that is killed, in plain JavaScript: hundreds are started, and compiling each would take most of the time. */
async function program(): Promise<string> {
  // Below node_modules, so that packages are found from there.
  const outdir = fileURLToPath(new URL(`../../node_modules/.cache/throughline-kill/${String(process.pid)}`, import.meta.url));
  const options = {
    entryPoints: [fileURLToPath(new URL('victim.ts', import.meta.url))], outdir, bundle: true, splitting: true, platform: 'node', format: 'esm', target: 'node20', packages: 'external',
    outExtension: { '.js': '.mjs' }, logLevel: 'error',
  };
  // In a process of its own: esbuild refuses the globals of a test runner.
  const code = "import { build } from 'esbuild'; await build(JSON.parse(process.argv[1]));";
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code, JSON.stringify(options)], { cwd: fileURLToPath(new URL('../..', import.meta.url)), env: { ...process.env, NODE_OPTIONS: '' } });
  return join(outdir, 'victim.mjs');
}

/** Does something with a campaign's surroundings, on the stack of this run (see test/support/stack.ts). */
async function withCampaign<T>(options: CampaignOptions, work: (campaign: Campaign, stage: Stage) => Promise<T>): Promise<T> {
  const stage = await Stage.open();
  try {
    const keyless = await startPlatform({ data: join(stage.folder, 'keyless'), flags: ['--no-keys'] });
    stage.onEnd(() => keyless.kill());
    const victim = await program();
    stage.onEnd(() => rm(dirname(victim), { recursive: true, force: true }));
    return await work(new Campaign(stage, keyless, victim, options), stage);
  } finally {
    await stage.end();
  }
}

export const campaign = (options: CampaignOptions): Promise<CampaignReport> => withCampaign(options, (one) => one.all(options));

/** What became of a task whose every attempt was killed, and of the others. */
export const killedInEveryAttempt = (seed: number): Promise<{ readonly hopeless: View; readonly others: readonly View[] }> =>
  withCampaign({ seed, kills: 0 }, async (one, { client }) => {
    const { hopeless, others } = await one.everyAttempt();
    return { hopeless: await client.get(hopeless), others: await Promise.all(others.map((task) => client.get(task))) };
  });
