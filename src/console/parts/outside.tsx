/** @jsxRuntime automatic @jsxImportSource preact */
/** What was asked of the outside, and what it answered. */
import type { Explanation } from '../../client/explain/index.ts';
import { PHRASES } from '../../client/explain/reading.ts';
import { actionAddress } from '../address.ts';
import { mayHere, useFrame } from '../frame.ts';
import { Code, Name, Time } from './words.tsx';

type Receipt = Explanation['receipts'][number];

/** Refused by whom it was for, not by what it said. */
const MISADDRESSED: ReadonlySet<string> = new Set(['wrong_step', 'wrong_thread', 'wrong_message', 'wrong_external_id']);
const isMisaddressed = ({ verdict }: Receipt): boolean => verdict !== null && MISADDRESSED.has(verdict);

export function Touches({ e }: { readonly e: Explanation }) {
  const { m } = useFrame();
  return (
    <section class="card" aria-labelledby="touches">
      <h2 id="touches">{m.task.touches}</h2>
      {e.touches.length === 0 ? <p class="quiet">{m.task.no_touches}</p> : null}
      {e.touches.map(({ step, attempt, requests }) => (
        <div key={`${step}/${String(attempt)}`} class="group">
          <h3><Name>{step}</Name> <span class="quiet">{m.task.attempt(attempt)}</span></h3>
          <ul>
            {requests.map((touch) => (
              <li key={`${touch.message_id}/${touch.kind}`} class={touch.live ? 'item' : 'item past'}>
                <p>{touch.sentence}</p>
                <p class="small quiet">
                  <Time at={touch.at} from={e.as_of} only="distance" /> · {m.task.message} <Code>{touch.message_id}</Code>
                  {touch.generation > 1 ? ` · ${m.task.generation} ${String(touch.generation)}` : null}
                  {touch.late ? ` · ${m.task.late}` : null}
                </p>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

export function Receipts({ e }: { readonly e: Explanation }) {
  const { m } = useFrame();
  const [matched, refused] = [e.receipts.filter((one) => one.matched), e.receipts.filter((one) => !one.matched)];
  return (
    <section class="card" aria-labelledby="receipts">
      <h2 id="receipts">{m.task.receipts}</h2>
      {e.receipts.length === 0 ? <p class="quiet">{m.task.no_receipts}</p> : null}
      <ReceiptGroup title={m.task.matched} receipts={matched} e={e} />
      <ReceiptGroup title={m.task.refused} receipts={refused} e={e} />
    </section>
  );
}

function ReceiptGroup({ title, receipts, e }: { readonly title: string; readonly receipts: readonly Receipt[]; readonly e: Explanation }) {
  const frame = useFrame();
  const { m, lang } = frame;
  if (receipts.length === 0) return null;
  return (
    <div class="group">
      <h3>{title}</h3>
      <ul>
        {receipts.map((receipt) => (
          <li key={receipt.id} class="item">
            <p>{receipt.sentence}</p>
            <p class="small"><strong>{receipt.verdict === null ? m.unknown : m.receipt_verdicts[receipt.verdict]}</strong>: {receipt.verdict_meaning}</p>
            <p class="small quiet">
              <Name>{receipt.step}</Name> · {PHRASES[lang].receipt_kinds[receipt.kind]} · {m.task.from} <Name>{receipt.sender}</Name> · <Time at={receipt.at} from={e.as_of} only="distance" />
              {receipt.deliveries > 1 ? ` · ${m.task.deliveries(receipt.deliveries)}` : null} · <Code>{receipt.delivery_id}</Code>
            </p>
            {mayHere(frame, 'rematch_receipt') && isMisaddressed(receipt) ? <p class="small"><a href={actionAddress(e.task.id, 'rematch', { receipt: receipt.id, step: receipt.step })}>{m.actions.rematch}<span class="away"> {receipt.delivery_id}</span></a></p> : null}
          </li>
        ))}
      </ul>
    </div>
  );
}
