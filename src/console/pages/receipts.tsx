/** @jsxRuntime automatic @jsxImportSource preact */
import { PHRASES } from '../../client/explain/reading.ts';
import { RECEIPT_VERDICTS } from '../../state/index.ts';
import { address, taskAddress } from '../address.ts';
import { mayHere, useFrame } from '../frame.ts';
import { Shell } from '../parts/shell.tsx';
import { Code, Name, Time } from '../parts/words.tsx';
import type { ReceiptPage } from '../types.ts';

/** Receipts that have found no task: nobody's page shows them otherwise. */
export function ReceiptsPage({ page, cursor }: { readonly page: ReceiptPage; readonly cursor: string | undefined }) {
  const { m } = useFrame();
  const { receipts } = m.actions;
  return (
    <Shell title={receipts.title} current="receipts">
      <div class="head"><h1>{receipts.title}</h1></div>
      <p class="lead">{receipts.lead}</p>
      {page.rows.length === 0 ? <p class="card empty">{receipts.none}</p> : <ul class="unmatched">{page.rows.map((row) => <li key={row.id} class="card"><Unmatched row={row} /></li>)}</ul>}
      <nav class="pages" aria-label={m.tasks.shown(page.rows.length)}>
        <span class="quiet">{m.tasks.shown(page.rows.length)}</span>
        {cursor === undefined ? null : <a class="button" href={address('/receipts')}>{m.tasks.newest}</a>}
        {page.cursor === null ? null : <a class="button" rel="next" href={address('/receipts', { cursor: page.cursor })}>{m.tasks.older}</a>}
      </nav>
    </Shell>
  );
}

function Unmatched({ row }: { readonly row: ReceiptPage['rows'][number] }) {
  const frame = useFrame();
  const { m, lang } = frame;
  const { receipts, fields } = m.actions;
  const field = `of-${row.id}`;
  return (
    <>
      <p>
        <strong>{row.verdict === null ? m.unknown : m.receipt_verdicts[row.verdict]}</strong>
        {row.verdict === null ? null : <> · {RECEIPT_VERDICTS[row.verdict][lang === 'en' ? 'en' : 'zh']}</>}
      </p>
      <dl class="ids">
        <div><dt>{receipts.deliveries}</dt><dd><Code>{row.delivery_id}</Code></dd></div>
        <div><dt>{m.task.from}</dt><dd><Name>{row.sender}</Name></dd></div>
        <div><dt>{m.tasks.state}</dt><dd>{PHRASES[lang].receipt_kinds[row.kind]}</dd></div>
        <div><dt>{receipts.of}</dt><dd>{row.task === null ? <><Code>{row.task_ref}</Code> <span class="quiet">{receipts.nobody}</span></> : <a href={taskAddress(row.task)}><Code>{row.task}</Code></a>}</dd></div>
        <div><dt>{fields.step}</dt><dd><Name>{row.step}</Name></dd></div>
        <div><dt>{receipts.came}</dt><dd><Time at={row.received_at} /></dd></div>
      </dl>
      {mayHere(frame, 'rematch_receipt') ? (
        <form method="get" action={address(`/receipts/${row.id}/rematch`)} class="inline">
          <label for={field}>{receipts.choose}</label>
          <input id={field} name="task" required minLength={36} maxLength={36} spellcheck={false} value={row.task ?? ''} />
          <input type="hidden" name="step" value={row.step} />
          <button type="submit">{receipts.go}</button>
        </form>
      ) : null}
    </>
  );
}
