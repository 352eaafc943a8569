/** @jsxRuntime automatic @jsxImportSource preact */
/** What the caller's role may do here, and the task's state leaves to do. */
import type { Explanation } from '../../client/explain/index.ts';
import { offersOf } from '../actions/offers.ts';
import type { Offer } from '../actions/offers.ts';
import { ACTIONS } from '../actions/specs.ts';
import { actionAddress } from '../address.ts';
import { mayHere, useFrame } from '../frame.ts';
import type { TaskRecord } from '../types.ts';
import { Form } from './form.tsx';
import { Name } from './words.tsx';

export function TaskActions({ e, record }: { readonly e: Explanation; readonly record: TaskRecord }) {
  const frame = useFrame();
  const offers = offersOf(frame, e, record);
  if (!ACTIONS.some(({ permission }) => mayHere(frame, permission))) return null;
  const { actions } = frame.m;
  return (
    <section class="card actions" aria-labelledby="actions">
      <h2 id="actions">{actions.title}</h2>
      {offers.length === 0 ? <p class="quiet">{actions.nothing}</p> : <ul>{offers.map((offer) => <li key={`${offer.action}/${offer.step ?? ''}`}><OfferLink task={e.task.id} offer={offer} /></li>)}</ul>}
    </section>
  );
}

function OfferLink({ task, offer: { action, step, effect } }: { readonly task: string; readonly offer: Offer }) {
  const { m: { actions } } = useFrame();
  const of = step === null ? null : <span class="quiet"><Name>{step}</Name></span>;
  // To open a review is recorded: a form, not a link.
  if (action === 'decide') {
    return (
      <Form action={actionAddress(task, 'open')}>
        <input type="hidden" name="step" value={step ?? ''} />
        <button type="submit" class="primary">{actions.review} {of}</button>
      </Form>
    );
  }
  return <a class={action === 'cancel' ? 'button danger' : 'button'} href={actionAddress(task, action, { step, effect })}>{actions.names[action].title} {of}</a>;
}
