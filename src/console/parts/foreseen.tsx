/** @jsxRuntime automatic @jsxImportSource preact */
/** What an action would do, or has done: the door's answer in `explain`'s words. */
import type { Change } from '../actions/rehearsal.ts';
import type { ThroughlineError } from '../../errors.ts';
import { useFrame } from '../frame.ts';
import { Code, Name, State } from './words.tsx';

export function Refusal({ title, error }: { readonly title: string; readonly error: ThroughlineError }) {
  const { m, lang } = useFrame();
  const { message, path, limit } = error.detail;
  return (
    <div class="notice attention" role="alert">
      <p><strong>{title}</strong></p>
      <p class="refusal">{lang === 'en' ? (message ?? m.errors[error.code]) : m.errors[error.code]}</p>
      <p class="small"><Code>{error.code}</Code>{path === undefined ? null : <> · {m.problem.at} <Code>{path}</Code></>}{limit === undefined ? null : ` · ${m.problem.limit}: ${String(limit)}`}</p>
    </div>
  );
}

export function Changes({ change: { steps, cancel, entries, after } }: { readonly change: Change }) {
  const { m } = useFrame();
  return (
    <div class="change">
      {cancel === null ? null : <p><strong>{cancel.verdict_meaning}</strong></p>}
      {cancel === null ? null : <p>{cancel.sentence}</p>}
      {steps.length === 0 ? <p class="quiet">{m.actions.nothing_moves}</p> : null}
      <ul>
        {steps.map(({ name, from, to }) => (
          <li key={name} class="item">
            <p class="moves"><Name>{name}</Name> <State state={from.state} tone={from.tone} of="step" /> <span aria-hidden="true">→</span> <State state={to.state} tone={to.tone} of="step" /></p>
            <p>{to.sentence}</p>
            <p class="small quiet">{to.will_run_again.sentence}</p>
          </li>
        ))}
      </ul>
      {cancel === null ? null : cancel.steps.map((step) => (step.left_outside_sentence === null ? null : <p key={step.step} class="small">{step.left_outside_sentence}</p>))}
      {steps.length > 0 || entries.length === 0 ? null : <ul>{entries.map((line) => <li key={line.id} class="item"><p>{line.sentence}</p></li>)}</ul>}
      <p class="follows">{after.headline}</p>
    </div>
  );
}
