/** @jsxRuntime automatic @jsxImportSource preact */
/** Replays and cancels of many: what they are about, what they would do, how far they are. */
import type { BulkForeseen, BulkItemPage, BulkItemRow, BulkPage as Bulks, BulkRow } from '../../client/bulk.ts';
import { PHRASES } from '../../client/explain/reading.ts';
import { ERRORS, type ErrorCode, type ThroughlineError } from '../../errors.ts';
import { LIMITS, REASONS } from '../../state/index.ts';
import type { CancelVerdict, ReasonCode, RestState } from '../../state/index.ts';
import { address, bulkAddress, taskAddress } from '../address.ts';
import { mayHere, useFrame } from '../frame.ts';
import { Form } from '../parts/form.tsx';
import { Refusal } from '../parts/foreseen.tsx';
import { Shell } from '../parts/shell.tsx';
import { Code, Name, Pair, Time } from '../parts/words.tsx';
import type { BulkKind } from '../types.ts';
import { Text } from './action.tsx';

/** Between two looks at one that runs, seconds. */
const RUNNING_REFRESH_S = 2;

/** What a bulk is to be about, as the form carries it. */
export interface Selection {
  readonly tasks: readonly string[];
  readonly filter: Readonly<Record<string, string>>;
}

const useWord = () => {
  const { m, lang } = useFrame();
  const code = (refused: string): string => (Object.hasOwn(ERRORS, refused) ? m.errors[refused as ErrorCode] : refused);
  const verdict = (one: CancelVerdict): string => PHRASES[lang].verdicts[one];
  return { code, outcome: ({ to, verdict: v }: { readonly to?: RestState | undefined; readonly verdict?: CancelVerdict | undefined }): string => (to === undefined ? (v === undefined ? '–' : verdict(v)) : PHRASES[lang].states[to]) };
};

export function BulksPage({ lists }: { readonly lists: readonly (readonly [BulkKind, Bulks])[] }) {
  const { m: { actions: { bulks } } } = useFrame();
  return (
    <Shell title={bulks.title} current="bulks">
      <div class="head"><h1>{bulks.title}</h1></div>
      <p class="lead">{bulks.lead}</p>
      {lists.map(([kind, { rows }]) => (
        <section key={kind} class="card" aria-labelledby={`bulks-${kind}`}>
          <h2 id={`bulks-${kind}`}>{bulks.kinds[kind]}</h2>
          {rows.length === 0 ? <p class="quiet">{bulks.none}</p> : (
            <ul>
              {rows.map((bulk) => (
                <li key={bulk.id} class="item aged">
                  <Status bulk={bulk} /> <a href={bulkAddress(kind, bulk.id)}><Name>{bulk.why}</Name></a>
                  <span class="quiet">{bulks.counts(bulk.items)} · <Name>{bulk.by}</Name> · <Time at={bulk.created_at} /></span>
                </li>
              ))}
            </ul>
          )}
        </section>
      ))}
    </Shell>
  );
}

interface NewProps {
  readonly kind: BulkKind;
  readonly id: string;
  readonly selection: Selection;
  readonly why: string;
  readonly who: string;
  readonly rate: string;
  readonly refused?: ThroughlineError | undefined;
}

export function NewBulkPage({ kind, id, selection, why, who, rate, refused }: NewProps) {
  const { m, caller } = useFrame();
  const { actions } = m;
  const { bulks } = actions;
  return (
    <Shell title={bulks.new_title[kind]} current="tasks">
      <div class="action">
        <h1>{bulks.new_title[kind]}</h1>
        <p class="lead">{bulks.new_lead}</p>
        {refused === undefined ? null : <Refusal title={actions.refused} error={refused} />}
        <Form action={address('/bulks')} class="card stack" label={bulks.new_title[kind]}>
          <input type="hidden" name="kind" value={kind} />
          <input type="hidden" name="id" value={id} />
          {selection.tasks.map((task) => <input key={task} type="hidden" name="task" value={task} />)}
          {Object.entries(selection.filter).map(([name, value]) => <input key={name} type="hidden" name={name} value={value} />)}
          <About title={bulks.selection} tasks={selection.tasks.length} filter={selection.filter} />
          <Text name="why" label={actions.why} hint={actions.why_hint} value={why} max={LIMITS.why_chars_max} />
          <Text name="who" label={actions.who} hint={actions.who_hint(`token:${caller?.token.name ?? ''}`)} value={who} max={100} short />
          <div class="field">
            <label for="x-rate">{bulks.rate}</label>
            <input id="x-rate" name="rate" type="number" min="0.01" max={LIMITS.bulk_rate_per_s_max} step="any" value={rate} />
          </div>
          <button type="submit" class="primary">{bulks.make}</button>
        </Form>
      </div>
    </Shell>
  );
}

function About({ title, tasks, filter }: { readonly title: string; readonly tasks: number; readonly filter: Readonly<Record<string, unknown>> }) {
  const { m, lang } = useFrame();
  const { bulks } = m.actions;
  const labels: Readonly<Record<string, string>> = { status: m.tasks.state, type: m.tasks.type, reason: m.tasks.reason, from: m.tasks.from, to: m.tasks.to, step: m.tasks.step };
  const value = (name: string, said: unknown): string => {
    const text = String(said);
    if (name === 'reason') return REASONS[text as ReasonCode][lang === 'en' ? 'en' : 'zh'];
    return name === 'status' ? (PHRASES[lang].statuses as Readonly<Record<string, string>>)[text] ?? text : text;
  };
  const said = Object.entries(filter).filter(([name]) => name !== 'tasks');
  return (
    <div>
      <h2>{title}</h2>
      {tasks > 0 ? <p>{bulks.chosen(tasks)}</p> : null}
      {said.length === 0 ? null : (
        <>
          <p class="quiet">{bulks.filter}</p>
          <dl class="facts">{said.map(([name, one]) => <><dt>{labels[name] ?? name}</dt><dd><Name>{value(name, one)}</Name></dd></>)}</dl>
        </>
      )}
    </div>
  );
}

const Status = ({ bulk: { status } }: { readonly bulk: BulkRow }) => {
  const { m } = useFrame();
  return <span class={`state ${{ planned: 'waiting', running: 'progress', done: 'stopped', aborted: 'attention' }[status]}`} title={status}>{m.actions.bulks.status[status]}</span>;
};

interface Props {
  readonly bulk: BulkRow;
  readonly items: BulkItemPage;
  readonly cursor: string | undefined;
  readonly refused?: ThroughlineError | undefined;
}

export function BulkPage({ bulk, items, cursor, refused }: Props) {
  const frame = useFrame();
  const { m } = frame;
  const { bulks, refused: refusedTitle } = m.actions;
  const { counts } = bulk;
  const ended = counts.done + counts.refused + counts.skipped;
  return (
    <Shell title={`${bulks.kinds[bulk.kind]}: ${bulk.why}`} current="bulks" refreshAfterS={bulk.status === 'running' ? RUNNING_REFRESH_S : undefined}>
      <div class="task bulk">
        <header>
          <p class="crumbs"><a href={address('/bulks')}>{bulks.title}</a></p>
          <div class="headline"><Status bulk={bulk} /><h1>{bulks.kinds[bulk.kind]}: <Name>{bulk.why}</Name></h1></div>
          <dl class="ids">
            <Pair term={bulks.made}><Time at={bulk.created_at} from={bulk.as_of} /> <span class="quiet">{m.task.by}</span> <Name>{bulk.by}</Name></Pair>
            {bulk.applied_by === null || bulk.applied_at === null ? null : <Pair term={bulks.applied_by}><Name>{bulk.applied_by}</Name> <Time at={bulk.applied_at} from={bulk.as_of} /></Pair>}
            {bulk.aborted_by === null || bulk.aborted_at === null ? null : <Pair term={bulks.aborted_by}><Name>{bulk.aborted_by}</Name> <Time at={bulk.aborted_at} from={bulk.as_of} />: <Name>{bulk.aborted_why ?? ''}</Name></Pair>}
            <Pair term={bulks.rate}>{bulks.rate_of(String(bulk.rate_per_s))}</Pair>
            <Pair term={m.task.id}><Code>{bulk.id}</Code></Pair>
            <Pair term={m.as_of}><Time at={bulk.as_of} /> {m.utc}</Pair>
          </dl>
        </header>
        {refused === undefined ? null : <Refusal title={refusedTitle} error={refused} />}
        <div class="two">
          <section class="card" aria-labelledby="would">
            <h2 id="would">{bulks.would}</h2>
            <ul>{bulk.foreseen.map((one) => <ForeseenItem key={JSON.stringify(one)} one={one} />)}</ul>
            {bulk.status === 'planned' ? <p class="planned"><strong>{bulks.planned_note}</strong></p> : (
              <p>
                <progress value={ended} max={Math.max(bulk.items, 1)} aria-label={bulks.progress(ended, bulk.items)} /> <span class="progress-said">{bulks.progress(ended, bulk.items)}</span>
              </p>
            )}
            {bulk.refused.map(({ code, items: n }) => <RefusedItem key={code} code={code} n={n} />)}
            {mayHere(frame, 'bulk') ? <Buttons bulk={bulk} /> : null}
          </section>
          <section class="card"><About title={bulks.selection} tasks={bulk.filter.tasks?.length ?? 0} filter={bulk.filter as Readonly<Record<string, unknown>>} /></section>
        </div>
        <Items bulk={bulk} page={items} cursor={cursor} />
      </div>
    </Shell>
  );
}

function ForeseenItem({ one }: { readonly one: BulkForeseen }) {
  const { m: { actions: { bulks } } } = useFrame();
  const { code, outcome } = useWord();
  return <li class="item">{bulks.counts(one.items)}: {one.refused === undefined ? bulks.would_be(outcome(one)) : bulks.would_be_refused(code(one.refused))}</li>;
}

function RefusedItem({ code: refused, n }: { readonly code: string; readonly n: number }) {
  const { m: { actions: { bulks } } } = useFrame();
  const { code } = useWord();
  return <p class="small">{bulks.counts(n)} {bulks.result_refused}: {code(refused)} <Code>{refused}</Code></p>;
}

function Buttons({ bulk: { kind, id, status } }: { readonly bulk: BulkRow }) {
  const { m: { actions: { bulks } } } = useFrame();
  if (status === 'done' || status === 'aborted') return null;
  return (
    <div class="deeds">
      {status === 'planned' ? <Form action={bulkAddress(kind, id, '/apply')}><button type="submit" class="primary">{bulks.apply}</button></Form> : null}
      <Form action={bulkAddress(kind, id, '/abort')} class="inline">
        <label for="abort-why">{bulks.abort_why}</label>
        <input id="abort-why" name="why" required maxLength={LIMITS.why_chars_max} />
        <button type="submit" class="danger">{bulks.abort}</button>
      </Form>
    </div>
  );
}

function Items({ bulk, page, cursor }: { readonly bulk: BulkRow; readonly page: BulkItemPage; readonly cursor: string | undefined }) {
  const { m, lang } = useFrame();
  const { bulks } = m.actions;
  return (
    <section aria-labelledby="items">
      <h2 id="items">{bulks.items}</h2>
      <div class="scroll card" tabIndex={0} role="group" aria-labelledby="items">
        <table>
          <thead>
            <tr><th scope="col">{bulks.item}</th><th scope="col">{bulks.found}</th><th scope="col">{bulks.would}</th><th scope="col">{bulks.result}</th></tr>
          </thead>
          <tbody>{page.rows.map((item) => <ItemRow key={item.ordinal} item={item} reason={REASONS[item.found.reason][lang === 'en' ? 'en' : 'zh']} />)}</tbody>
        </table>
      </div>
      <nav class="pages" aria-label={m.tasks.shown(page.rows.length)}>
        {cursor === undefined ? null : <a class="button" href={bulkAddress(bulk.kind, bulk.id)}>{m.tasks.newest}</a>}
        {page.cursor === null ? null : <a class="button" rel="next" href={bulkAddress(bulk.kind, bulk.id, '', { cursor: page.cursor })}>{bulks.more}</a>}
      </nav>
    </section>
  );
}

function ItemRow({ item, reason }: { readonly item: BulkItemRow; readonly reason: string }) {
  const { m: { actions: { bulks } }, lang } = useFrame();
  const { code, outcome } = useWord();
  const { found, foreseen } = item;
  const words = { ...PHRASES[lang].states, ...PHRASES[lang].statuses } as Readonly<Record<string, string>>;
  const result = { pending: bulks.result_pending, done: item.verdict === null ? bulks.result_done : outcome({ verdict: item.verdict }), refused: `${bulks.result_refused}: ${code(item.code ?? '')}`, skipped: bulks.result_skipped }[item.result];
  return (
    <tr>
      <th scope="row"><a href={taskAddress(item.task)}><Code>{item.task}</Code></a>{item.step === null ? null : <> <Name>{item.step}</Name></>}</th>
      <td>{words[found.state] ?? found.state} <span class="quiet small">{reason}</span></td>
      <td>{foreseen.refused === undefined ? outcome(foreseen) : bulks.would_be_refused(code(foreseen.refused))}</td>
      <td class={`result ${item.result}`}>{result}</td>
    </tr>
  );
}
