/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import type { ThroughlineClient } from '../../client/client.ts';
import { PHRASES } from '../../client/explain/reading.ts';
import { PARENT_STATUSES, REASONS } from '../../state/index.ts';
import type { ParentStatus } from '../../state/index.ts';
import { address } from '../address.ts';
import { useFrame } from '../frame.ts';
import { Bars } from '../parts/bars.tsx';
import { Shell } from '../parts/shell.tsx';
import { Name, State, Time } from '../parts/words.tsx';
import { age, moment } from '../time.ts';

export type Overview = Awaited<ReturnType<ThroughlineClient['overview']>>;

/** `whole`: the caller may see every type; what is not told apart by type is left out otherwise. */
export function OverviewPage({ overview, whole }: { readonly overview: Overview; readonly whole: boolean }) {
  const { m } = useFrame();
  const { gauges, activity } = overview;
  const cut = activity.since > (activity.spans[0]?.at ?? activity.since) ? m.overview.counted_from(moment(activity.since)) : undefined;
  return (
    <Shell title={m.overview.title} current="overview" refreshAfterS={30}>
      <div class="head">
        <h1>{m.overview.title}</h1>
        <p class="quiet">{m.as_of} <Time at={gauges.as_of} /> {m.utc}</p>
      </div>
      <Health overview={overview} whole={whole} />
      <div class="pair">
        <Counts overview={overview} />
        <Ages overview={overview} whole={whole} />
      </div>
      {whole ? (
        <div class="pair even">
          <Bars title={m.overview.attempts} tone="progress" note={cut} bars={activity.spans.map(({ at, attempts }) => ({ at, count: attempts }))} />
          <Bars title={m.overview.rescues} tone="attention" note={cut} bars={activity.spans.map(({ at, rescues }) => ({ at, count: rescues }))} />
        </div>
      ) : null}
    </Shell>
  );
}

type Light = 'good' | 'bad' | 'unsure';

function Health({ overview: { health, gauges }, whole }: { readonly overview: Overview; readonly whole: boolean }) {
  const { m, lang } = useFrame();
  const { workers, outbox, leases } = gauges;
  const words = m.overview.health;
  return (
    <section class="health" aria-label={words.title}>
      <h2 class="away">{words.title}</h2>
      <Lamp name="Postgres" light={health.ledger === 'up' ? 'good' : 'bad'} says={words.ledger[health.ledger]} />
      <Lamp name="Temporal" light={health.temporal === 'up' ? 'good' : health.temporal === 'down' ? 'bad' : 'unsure'} says={words.temporal[health.temporal]} />
      <Lamp name={words.workers} light={workers.seen > 0 ? 'good' : 'bad'} says={words.seen(workers.seen)}>{workers.clock_skew_ms > 1_000 ? words.skew(age(workers.clock_skew_ms, lang)) : words.leases(leases.held, leases.expired)}</Lamp>
      {whole ? (
        <Lamp name={words.outbox} light={outbox.parked > 0 ? 'bad' : outbox.lag_ms > 30_000 ? 'unsure' : 'good'} says={outbox.waiting === 0 ? words.empty : words.waiting(outbox.waiting, age(outbox.lag_ms, lang))}>
          {outbox.parked > 0 ? words.parked(outbox.parked) : null}
        </Lamp>
      ) : null}
    </section>
  );
}

const Lamp = ({ name, light, says, children }: { readonly name: string; readonly light: Light; readonly says: string; readonly children?: ComponentChildren }) => (
  <div class={`lamp card ${light}`}>
    <h3>{name}</h3>
    <p class="says"><span aria-hidden="true">{light === 'good' ? '●' : light === 'bad' ? '◆' : '○'}</span> {says}</p>
    {children === undefined || children === null ? null : <p class="small quiet">{children}</p>}
  </div>
);

/** Open and dead ones now, and what ended in the last day. */
function Counts({ overview: { gauges } }: { readonly overview: Overview }) {
  const { m, lang } = useFrame();
  const cells = new Map<string, number>();
  for (const { type, status, tasks } of [...gauges.tasks, ...gauges.ended.filter(({ status }) => status !== 'dead')]) cells.set(`${type}/${status}`, (cells.get(`${type}/${status}`) ?? 0) + tasks);
  const types = [...new Set([...cells.keys()].map((key) => key.slice(0, key.lastIndexOf('/'))))].sort();
  const used = PARENT_STATUSES.filter((status) => types.some((type) => cells.has(`${type}/${status}`)));
  return (
    <section class="card" aria-labelledby="counts">
      <h2 id="counts">{m.overview.counts}</h2>
      {types.length === 0 ? <p class="quiet">{m.tasks.none_yet}</p> : (
        <div class="wide" tabIndex={0} role="group" aria-labelledby="counts">
          <table class="counts">
            <thead>
              <tr>
                <th scope="col">{m.tasks.type}</th>
                {used.map((status) => <th key={status} scope="col">{PHRASES[lang].statuses[status]}</th>)}
              </tr>
            </thead>
            <tbody>{types.map((type) => <CountRow key={type} type={type} used={used} cells={cells} />)}</tbody>
          </table>
        </div>
      )}
      <p class="small quiet">{m.overview.counts_note}{gauges.truncated ? ` ${m.overview.truncated}` : ''}</p>
    </section>
  );
}

const CountRow = ({ type, used, cells }: { readonly type: string; readonly used: readonly ParentStatus[]; readonly cells: ReadonlyMap<string, number> }) => (
  <tr>
    <th scope="row"><a href={address('/tasks', { type })}><Name>{type}</Name></a></th>
    {used.map((status) => {
      const count = cells.get(`${type}/${status}`) ?? 0;
      return <td key={status}>{count === 0 ? <span class="quiet">0</span> : <a href={address('/tasks', { type, status })}>{count.toLocaleString('en')}</a>}</td>;
    })}
  </tr>
);

/** What waits longest, and what needs somebody. */
function Ages({ overview: { gauges }, whole }: { readonly overview: Overview; readonly whole: boolean }) {
  const { m, lang } = useFrame();
  const words = lang === 'en' ? 'en' : 'zh';
  const troubled = whole ? [...gauges.troubled].sort((a, b) => b.oldest_ms - a.oldest_ms) : [];
  const queued = [...gauges.queued].sort((a, b) => b.oldest_ms - a.oldest_ms);
  return (
    <section class="card" aria-labelledby="ages">
      <h2 id="ages">{m.overview.ages}</h2>
      {troubled.length + queued.length === 0 ? <p class="quiet">{m.overview.nothing_waits}</p> : (
        <ul>
          {troubled.map(({ state, reason, steps, oldest_ms: oldest }) => (
            <li key={`${state}/${reason}`} class="item aged">
              <State state={state} of="step" />
              <a href={address('/tasks', { status: state })}>{REASONS[reason][words]}</a>
              <span class="quiet">{m.overview.steps(steps)} · {m.overview.oldest} {age(oldest, lang)}</span>
            </li>
          ))}
          {queued.map(({ type, steps, oldest_ms: oldest }) => (
            <li key={type} class="item aged">
              <State state="queued" of="step" />
              <a href={address('/tasks', { status: 'queued', type })}><Name>{type}</Name></a>
              <span class="quiet">{m.overview.steps(steps)} · {m.overview.oldest} {age(oldest, lang)}</span>
            </li>
          ))}
        </ul>
      )}
      {whole && gauges.cancels_overdue + gauges.receipts_overdue > 0 ? <p class="small">{m.overview.overdue(gauges.cancels_overdue, gauges.receipts_overdue)}</p> : null}
    </section>
  );
}
