/** @jsxRuntime automatic @jsxImportSource preact */
/** Steps as lanes: their states in time, attempts, what comes next, who holds them. */
import { scaleLinear } from 'd3-scale';
import type { Explanation } from '../../client/explain/index.ts';
import { PHRASES } from '../../client/explain/reading.ts';
import { isTerminal } from '../../state/index.ts';
import type { StepState } from '../../state/index.ts';
import { useFrame } from '../frame.ts';
import type { TaskRecord } from '../types.ts';
import { Machine } from './machine.tsx';
import { Name, Pair, State, Time, toneOf } from './words.tsx';

type StepExplained = Explanation['steps'][number];

export function Steps({ e, record }: { readonly e: Explanation; readonly record: TaskRecord }) {
  const { m } = useFrame();
  return (
    <section class="steps" aria-labelledby="steps">
      <h2 id="steps">{m.task.steps}</h2>
      <ol>{e.steps.map((step) => <Lane key={step.name} step={step} e={e} record={record} />)}</ol>
    </section>
  );
}

function Lane({ step, e, record }: { readonly step: StepExplained; readonly e: Explanation; readonly record: TaskRecord }) {
  const { m } = useFrame();
  return (
    <li class={`lane card ${step.tone}`}>
      <div class="lane-top">
        <h3><Name>{step.name}</Name>{step.kind === 'review' ? <span class="kind">{m.task.review}</span> : null}</h3>
        <State state={step.state} tone={step.tone} of="step" />
        <p class="sentence">{step.sentence}</p>
      </div>
      <Strip step={step.name} record={record} />
      <dl class="lane-facts">
        <Pair term={m.task.again}>{step.will_run_again.sentence}</Pair>
        <Pair term={m.task.next}>{step.next.sentence}{step.next.at === null ? null : <> <Time at={step.next.at} from={e.as_of} only="distance" /></>}</Pair>
        <Pair term={m.task.attempts}><Pips charged={step.attempts.charged} max={step.attempts.max} /> {step.attempts.sentence}</Pair>
        {step.holder === null ? null : <Pair term={m.task.holder}><Name>{step.holder}</Name></Pair>}
        {step.needs.length === 0 ? null : <Pair term={m.task.needs}>{step.needs.map((need) => <span key={need.step} class="need"><Name>{need.step}</Name> <span class="quiet">{need.state_label}</span></span>)}</Pair>}
        {step.open_effects.length === 0 ? null : <Pair term={m.task.open}>{step.open_effects.map((touch) => <p key={touch.message_id}>{touch.sentence}</p>)}</Pair>}
        {step.last_failure === null ? null : <Pair term={m.task.failure}><Name>{step.last_failure.sentence}</Name></Pair>}
        {step.decision === null ? null : <Pair term={m.task.decision}>{step.decision.verdict === 'approved' ? '✓' : '✕'} <Name>{step.decision.by}</Name>: <Name>{step.decision.why}</Name></Pair>}
      </dl>
      <details class="machine-of">
        <summary>{m.task.machine}</summary>
        <Machine step={step.name} record={record} />
      </details>
    </li>
  );
}

/** So many of so many, where few enough to count by eye. */
function Pips({ charged, max }: { readonly charged: number; readonly max: number }) {
  if (max > 12) return null;
  return (
    <svg class="pips" width={max * 11} height="10" viewBox={`0 0 ${String(max * 11)} 10`} aria-hidden="true">
      {Array.from({ length: max }, (_, index) => <circle key={index} cx={index * 11 + 5} cy="5" r="3.6" class={index < charged ? 'used' : 'free'} />)}
    </svg>
  );
}

const WIDTH = 1_000;

/** All lanes share one scale of time. */
function Strip({ step, record }: { readonly step: string; readonly record: TaskRecord }) {
  const { m, lang } = useFrame();
  const { task, timeline, touches, as_of: asOf } = record;
  const start = Date.parse(task.created_at);
  const end = Math.max(Date.parse(task.at_rest ? (task.ended_at ?? asOf) : asOf), start + 1);
  const x = scaleLinear([start, end], [0, WIDTH]).clamp(true);
  const moves = timeline.filter((row) => row.step === step && row.kind === 'transition' && row.to_state !== '-' && row.to_state !== row.from_state);
  const spans = moves.map((row, index) => {
    const from = x(Date.parse(row.at));
    const until = moves[index + 1] === undefined ? WIDTH : x(Date.parse(moves[index + 1]?.at ?? asOf));
    return { state: row.to_state as StepState, from, width: Math.max(until - from, 0), id: row.id };
  });
  const words = PHRASES[lang].states;
  const path = spans.map(({ state }) => words[state]);
  const asked = touches.filter((touch) => touch.step === step && touch.sent);
  return (
    <svg class="strip" viewBox={`0 0 ${String(WIDTH)} 12`} preserveAspectRatio="none" role="img" aria-label={m.task.lane(path.slice(-20).join(', '))}>
      {spans.filter(({ width }) => width > 0).map(({ state, from, width, id }) => (
        <rect key={id} x={from} y="2" width={Math.max(width, 2)} height="8" class={`${toneOf(state)}${isTerminal(state) ? ' over' : ''}`}><title>{words[state]}</title></rect>
      ))}
      {asked.map((touch) => <rect key={`${touch.message_id}/${touch.intent_at}`} x={Math.min(x(Date.parse(touch.intent_at)), WIDTH - 3)} y="0" width="3" height="12" class="ask"><title>{`${touch.effect} ${touch.item}`}</title></rect>)}
    </svg>
  );
}
