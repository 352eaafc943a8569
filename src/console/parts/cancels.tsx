/** @jsxRuntime automatic @jsxImportSource preact */
import type { Explanation } from '../../client/explain/index.ts';
import { PHRASES } from '../../client/explain/reading.ts';
import { taskAddress } from '../address.ts';
import { useFrame } from '../frame.ts';
import { Code, Name, Time } from './words.tsx';

type Cancel = Explanation['cancels'][number];

export function Cancels({ e }: { readonly e: Explanation }) {
  const { m } = useFrame();
  if (e.cancels.length === 0) return null;
  return (
    <section class="card" aria-labelledby="cancels">
      <h2 id="cancels">{m.task.cancels}</h2>
      <ul>{e.cancels.map((cancel) => <CancelItem key={cancel.id} cancel={cancel} asOf={e.as_of} />)}</ul>
    </section>
  );
}

function CancelItem({ cancel, asOf }: { readonly cancel: Cancel; readonly asOf: string }) {
  const { m, lang } = useFrame();
  const { verbs, states } = PHRASES[lang];
  return (
    <li class="item">
      <p><strong>{cancel.verdict_meaning}</strong></p>
      <p>{cancel.sentence}</p>
      <p class="small quiet">
        {verbs[cancel.verb]}{cancel.step === null ? null : <> <Name>{cancel.step}</Name></>} · <Name>{cancel.by}</Name>: <Name>{cancel.why}</Name> · <Time at={cancel.at} from={asOf} only="distance" /> · <Code>{cancel.id}</Code>
      </p>
      <ul class="inner">
        {cancel.steps.map((step) => (
          <li key={step.step}>
            <p class="small">{step.sentence} <span class="quiet">({m.task.found_state} {states[step.found]})</span></p>
            {step.in_flight.map((one) => <p key={one.message_id} class="small quiet">{one.sentence}</p>)}
            {step.left_outside_sentence === null ? null : <p class="small">{step.left_outside_sentence}</p>}
            {step.next_check_at === null ? null : <p class="small quiet">{m.task.next_check} <Time at={step.next_check_at} from={asOf} only="distance" /></p>}
            {step.deadline_at === null || step.verdict !== 'pending' ? null : <p class="small quiet">{m.task.deadline_at} <Time at={step.deadline_at} from={asOf} /></p>}
          </li>
        ))}
      </ul>
    </li>
  );
}

/** Replays of this task, and the tasks that repeat it or that it repeats. */
export function Links({ e }: { readonly e: Explanation }) {
  const { m } = useFrame();
  const { again_of: of, again_as: as } = e.task;
  const replays = e.story.filter(({ reason }) => reason === 'replayed');
  return (
    <section class="card" aria-labelledby="links">
      <h2 id="links">{m.task.links}</h2>
      {replays.length === 0 && of === null && as === null ? <p class="quiet">{m.task.no_links}</p> : null}
      <ul>
        {of === null ? null : <li class="item"><p>{m.task.again_of} <a href={taskAddress(of)}><Code>{of}</Code></a></p></li>}
        {as === null ? null : <li class="item"><p>{m.task.again_as} <a href={taskAddress(as)}><Code>{as}</Code></a></p></li>}
        {replays.map((line) => (
          <li key={line.id} class="item">
            <p>{line.sentence}</p>
            <p class="small quiet"><Name>{line.who}</Name> · <Time at={line.at} from={e.as_of} only="distance" /></p>
          </li>
        ))}
      </ul>
    </section>
  );
}
