/** What others say and what was read back: receipts with their verdicts, proofs with their checks. */
import { isSuccess, isTerminal, RECEIPT_VERDICTS } from '../../state/index.ts';
import type { ReceiptKind } from '../../state/index.ts';
import type { AcceptanceRow, ReceiptRecord } from '../../ledger/index.ts';
import type { CheckCode, ProofCode } from './codes.ts';
import { isAccepted } from './reading.ts';
import type { Reading, StepReading } from './reading.ts';
import type { ProofOfStep, ReceiptExplanation } from './types.ts';
import { joined, name, readable } from './words.ts';

/** A receipt's kind, as a reviewer's word where the step is a review. */
export const kindOf = (r: Reading, step: string | null, kind: ReceiptKind): string => (step !== null && r.step(step)?.row.inbox === true ? r.p.review_kinds[kind] : r.p.receipt_kinds[kind]);

function receiptOf(row: ReceiptRecord, r: Reading): ReceiptExplanation {
  const { p } = r;
  const verdict = row.verdict === null ? null : RECEIPT_VERDICTS[row.verdict];
  const meaning = verdict === null ? p.receipt.unjudged : r.word(verdict);
  const matched = verdict?.moves === true;
  const waits = matched && (row.applied_at === null ? p.receipt.not_applied : p.receipt.applied);
  return {
    id: row.id, delivery_id: row.delivery_id, sender: row.sender, step: row.step, kind: row.kind, at: row.received_at, deliveries: row.deliveries, in_reply_to: row.in_reply_to,
    external_id: row.external_id, code: row.code, verdict: row.verdict, verdict_meaning: meaning, matched, applied_at: row.applied_at,
    sentence: p.named(p.receipt.said(kindOf(r, row.step, row.kind), name(row.sender)), joined(p, [meaning, waits, row.deliveries > 1 && p.receipt.deliveries(row.deliveries)])),
  };
}

export const receiptsOf = (r: Reading): ReceiptExplanation[] => r.record.receipts.map((row) => receiptOf(row, r));

/** As the ledger judges it (src/ledger/sql/70-check.sql). */
function checkCode(row: AcceptanceRow): CheckCode {
  if (row.found === false) return 'missing';
  if (row.ours === false) return 'not_ours';
  if (row.minimum === false) return 'below_minimum';
  return isAccepted(row) ? 'accepted' : 'not_checkable';
}

function proofCode(s: StepReading, checks: number): ProofCode {
  if (isSuccess(s.row.state)) return s.backed ? 'accepted' : 'unbacked';
  if (isTerminal(s.row.state)) return checks > 0 ? 'not_accepted' : 'none_yet';
  return s.row.next_check_at !== null && checks + Number(s.facts.confirmed) > 0 ? 'checking' : 'none_yet';
}

export function proofOf(s: StepReading, r: Reading): ProofOfStep {
  const checks = r.record.acceptances.filter(({ step }) => step === s.row.name);
  const code = proofCode(s, checks.length);
  return {
    step: s.row.name,
    code,
    sentence: r.p.named(s.row.name, r.p.proofs[code]),
    checks: checks.map((row) => {
      const found = checkCode(row);
      return { check_no: row.check_no, at: row.at, code: found, found: row.found, ours: row.ours, minimum: row.minimum, sentence: r.p.checks[found], read: readable(row.detail) };
    }),
    artifacts: r.record.artifacts.filter(({ step }) => step === s.row.name).map(({ step: _, ...artifact }) => artifact),
  };
}
