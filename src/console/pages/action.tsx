/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import type { Explanation } from '../../client/explain/index.ts';
import type { ThroughlineError } from '../../errors.ts';
import { LIMITS, REASON_CODES, REASONS } from '../../state/index.ts';
import { effectsOf } from '../actions/offers.ts';
import type { Foreseen } from '../actions/rehearsal.ts';
import type { ActionSpec, Asked, FieldName } from '../actions/spec.ts';
import { actionAddress, taskAddress } from '../address.ts';
import { useFrame } from '../frame.ts';
import { Form } from '../parts/form.tsx';
import { Changes, Refusal } from '../parts/foreseen.tsx';
import { Reading } from '../parts/proof.tsx';
import { Shell } from '../parts/shell.tsx';
import { Code, Name, State } from '../parts/words.tsx';
import type { TaskRecord } from '../types.ts';

interface Props {
  readonly spec: ActionSpec;
  readonly record: TaskRecord;
  readonly e: Explanation;
  readonly asked: Asked;
  /** For whom, as it was written. */
  readonly who: string;
  readonly foreseen: readonly Foreseen[];
  /** Why nothing was done. */
  readonly refused?: ThroughlineError | undefined;
  /** It would do something else now than what was shown. */
  readonly changed?: boolean;
}

/** What is asked, what it would do, and the button that does it. */
export function ActionPage({ spec, record, e, asked, who, foreseen, refused, changed = false }: Props) {
  const { m, caller } = useFrame();
  const { actions } = m;
  const { title, lead } = actions.names[spec.name];
  const hidden = (name: FieldName): name is 'entry' | 'receipt' | 'step' => name === 'entry' || name === 'receipt' || (name === 'step' && spec.name !== 'rematch');
  return (
    <Shell title={title} current="tasks">
      <div class="action">
        <p class="crumbs"><a href={taskAddress(e.task.id)}>{actions.back}</a> <span class="quiet"><Name>{e.task.key ?? e.task.id}</Name></span></p>
        <h1>{title}{asked.step === '' || spec.name === 'rematch' ? '' : actions.of(asked.step)}</h1>
        <p class="lead">{lead}</p>
        {refused === undefined ? null : <Refusal title={actions.refused} error={refused} />}
        {changed ? <p class="notice attention" role="alert">{actions.changed}</p> : null}
        <section class="card" aria-labelledby="now">
          <h2 id="now">{actions.now}</h2>
          <p><State state={e.status} tone={e.tone} /> <span class="now">{e.headline}</span></p>
          <Subject spec={spec} record={record} e={e} asked={asked} />
        </section>
        {spec.name === 'decide' ? <Reading e={e} step={asked.step} /> : null}
        <Form action={actionAddress(e.task.id, spec.name)} class="card stack" label={title}>
          <input type="hidden" name="id" value={asked.id} />
          {spec.fields.map((name) => (hidden(name) ? <input key={name} type="hidden" name={name} value={asked[name]} /> : <FieldOf key={name} name={name} record={record} e={e} asked={asked} />))}
          <Text name="why" label={actions.why} hint={actions.why_hint} value={asked.why} max={LIMITS.why_chars_max} />
          <Text name="who" label={actions.who} hint={actions.who_hint(`token:${caller?.token.name ?? ''}`)} value={who} max={100} short />
          {foreseen.map((one) => <Outcome key={one.variant} foreseen={one} single={foreseen.length === 1} />)}
          {spec.fields.some((name) => !hidden(name)) ? <button type="submit" name="look" value="1">{actions.again}</button> : null}
          <p class="small quiet">{actions.id} <Code>{asked.id}</Code></p>
        </Form>
      </div>
    </Shell>
  );
}

function Outcome({ foreseen: { variant, refused, would, mark }, single }: { readonly foreseen: Foreseen; readonly single: boolean }) {
  const { m: { actions } } = useFrame();
  const button = actions.buttons[variant];
  return (
    <section class={`outcome ${variant}`} aria-label={single ? actions.would : actions.would_of(button)}>
      <h2>{single ? actions.would : actions.would_of(button)}</h2>
      {refused === null ? null : <Refusal title={actions.would_be_refused} error={refused} />}
      {would === null ? null : <Changes change={would} />}
      <input type="hidden" name={`seen_${variant}`} value={mark} />
      <button type="submit" name="do" value={variant} class={variant === 'cancel' || variant === 'rejected' || variant === 'absent' ? 'danger' : 'primary'}>{button}</button>
    </section>
  );
}

/** What it is about, where that is more than a step. */
function Subject({ spec, record, e, asked }: Pick<Props, 'spec' | 'record' | 'e' | 'asked'>) {
  const { m } = useFrame();
  if (spec.name === 'correct') {
    const line = e.story.find(({ id }) => String(id) === asked.entry);
    return <p class="subject"><span class="quiet">{m.actions.fields.entry} <Code>{asked.entry}</Code></span> {line === undefined ? null : line.sentence}</p>;
  }
  if (spec.name === 'rematch') {
    const receipt = e.receipts.find(({ id, delivery_id: delivery }) => id === asked.receipt || delivery === asked.receipt);
    return <p class="subject"><span class="quiet">{m.actions.fields.receipt} <Code>{asked.receipt}</Code></span> {receipt === undefined ? null : `${receipt.sentence} ${receipt.verdict_meaning}`}</p>;
  }
  if (spec.name === 'unpark' && record.outbox?.last_error !== null && record.outbox !== null) return <p class="subject"><Name>{record.outbox.last_error}</Name></p>;
  const step = e.steps.find(({ name }) => name === asked.step);
  return step === undefined ? null : <p class="subject"><Name>{step.name}</Name> <State state={step.state} tone={step.tone} of="step" /> {step.sentence}</p>;
}

function FieldOf({ name, record, e, asked }: { readonly name: FieldName; readonly record: TaskRecord; readonly e: Explanation; readonly asked: Asked }) {
  const { m: { actions }, lang } = useFrame();
  const label = actions.fields[name];
  const effects = effectsOf(record, asked.step);
  switch (name) {
    case 'evidence': return <Text name={name} label={label} value={asked.evidence} max={LIMITS.evidence_chars_max} />;
    case 'externalId': return <Text name={name} label={label} value={asked.externalId} max={LIMITS.external_id_chars_max} short />;
    case 'result': return <Text name={name} label={label} value={asked.result} max={100_000} short />;
    case 'effect': return <Choice name={name} label={label} value={asked.effect} options={effects.map((effect) => [effect, effect])} />;
    case 'step': return <Choice name={name} label={label} value={asked.step} options={e.steps.map((step) => [step.name, step.name])} />;
    case 'reason': return <Choice name={name} label={label} value={asked.reason} options={[['', actions.no_reason], ...REASON_CODES.map((code) => [code, REASONS[code][lang === 'en' ? 'en' : 'zh']] as const)]} />;
    case 'message': return <Choice name={name} label={label} value={asked.message} options={[['', actions.any_message], ...record.touches.filter(({ submits, step }) => submits && step === asked.step).map((touch) => [touch.message_id, `${touch.effect} ${touch.item} · ${touch.message_id}`] as const)]} />;
    case 'void': return effects.length === 0 ? null : (
      <fieldset>
        <legend>{label}</legend>
        {effects.map((effect) => <label key={effect} class="tick"><input type="checkbox" name="void" value={effect} checked={asked.void.includes(effect)} /> <Name>{effect}</Name></label>)}
      </fieldset>
    );
    case 'drop': return <label class="tick"><input type="checkbox" name="drop" value="1" checked={asked.drop} /> {label}</label>;
    default: return null;
  }
}

interface TextProps {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly max: number;
  readonly short?: boolean;
}

export function Text({ name, label, hint, value, max, short = false }: TextProps) {
  const shared = { id: `x-${name}`, name, maxLength: max, 'aria-describedby': hint === undefined ? undefined : `x-${name}-hint` };
  return (
    <div class="field">
      <label for={shared.id}>{label}</label>
      {short ? <input {...shared} value={value} spellcheck={false} /> : <textarea {...shared} rows={2} value={value} />}
      {hint === undefined ? null : <span id={`${shared.id}-hint`} class="small quiet">{hint}</span>}
    </div>
  );
}

function Choice({ name, label, value, options }: { readonly name: string; readonly label: string; readonly value: string; readonly options: readonly (readonly [string, string])[] }): ComponentChildren {
  return (
    <div class="field">
      <label for={`x-${name}`}>{label}</label>
      <select id={`x-${name}`} name={name}>{options.map(([one, text]) => <option key={one} value={one} selected={one === value}>{text}</option>)}</select>
    </div>
  );
}

/** What was answered, at the head of the task's page; said once. */
export interface Said {
  readonly title: string;
  readonly lines: readonly string[];
}

export const SaidNotice = ({ said }: { readonly said: Said }) => (
  <div class="notice said-so" role="status">
    <p><strong>{said.title}</strong></p>
    {said.lines.map((line) => <p key={line}>{line}</p>)}
  </div>
);
