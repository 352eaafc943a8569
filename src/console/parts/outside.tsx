/** @jsxRuntime automatic @jsxImportSource preact */
/** What was asked of the outside, and what it answered. */
import type { Explanation } from '../../client/explain/index.ts';
import { PHRASES } from '../../client/explain/reading.ts';
import { useFrame } from '../frame.ts';
import { Code, Name, Time } from './words.tsx';

type Receipt = Explanation['receipts'][number];

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
      <ReceiptGroup title={m.task.matched} receipts={matched} asOf={e.as_of} />
      <ReceiptGroup title={m.task.refused} receipts={refused} asOf={e.as_of} />
    </section>
  );
}

function ReceiptGroup({ title, receipts, asOf }: { readonly title: string; readonly receipts: readonly Receipt[]; readonly asOf: string }) {
  const { m, lang } = useFrame();
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
              <Name>{receipt.step}</Name> · {PHRASES[lang].receipt_kinds[receipt.kind]} · {m.task.from} <Name>{receipt.sender}</Name> · <Time at={receipt.at} from={asOf} only="distance" />
              {receipt.deliveries > 1 ? ` · ${m.task.deliveries(receipt.deliveries)}` : null} · <Code>{receipt.delivery_id}</Code>
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}
