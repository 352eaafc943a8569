import { AUDIT_CHECKS, LIMITS } from '../src/state/index.ts';

const rowsOf = (kind: 'broken' | 'late'): string =>
  Object.entries(AUDIT_CHECKS).flatMap(([code, check]) => (check.kind === kind ? [`| \`${code}\` | ${check.en} |`] : [])).join('\n');

/** docs/audit.md: what the audit asks, and each code with its meaning. */
export const auditMarkdown = (): string => `# Audit

<!-- Generated from src/state/audit.ts by \`npm run generate\`. -->

\`throughline audit\` asks the live database whether every row keeps its promises: the timeline, states, attempts, leases, effects,
requests, receipts, cancels, replays and the roll-up of every task. It reads in one repeatable-read, read-only transaction, so that
all checks see one moment; it locks nothing and stops no writer. It changes nothing either: what it finds is for a person.

\`\`\`sh
throughline audit                         # the whole ledger
throughline audit --since 2026-05-01T00:00:00Z   # tasks that were open at some moment since then
throughline audit --task 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10
throughline audit --json | jq '.findings[] | {code, count}'
\`\`\`

Exit codes: 0 nothing was found, 1 something is only late, 5 a promise is broken. Of each finding the count and the first ${String(LIMITS.audit_rows_max)} rows are
shown (\`--rows\`), with the ids, states and counts that contradict each other. In code it is \`client.audit()\`.

With \`--json\`: \`{"as_of", "tasks", "checks", "ok", "findings": [{"code", "kind", "count", "says", "rows": [{"task", "step", "facts"}]}]}\`. Codes are stable.

A large ledger takes its time: each check reads the tables that it is about. Ask nightly for all of it and hourly for \`--since\`, on a
replica if there is one.

## Broken

No history through the door can leave these behind. Where somebody edited a state by hand, the trigger has recorded it
(\`manual_correction\`), and what would follow from the machine is not asked of that step. Everything else was written past the door
and its triggers, by damaged storage, or by a defect: keep the evidence (\`throughline evidence\`), then repair.

| code | what was found |
| --- | --- |
${rowsOf('broken')}

## Late

These are right, but nobody has seen to them for ${String(LIMITS.audit_late_ms / 60_000)} minutes after they were due: no worker runs, Temporal is away, or every driver is silent.
\`throughline doctor\` says which.

| code | what was found |
| --- | --- |
${rowsOf('late')}
`;
