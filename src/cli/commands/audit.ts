import { AUDIT_CHECKS } from '../../state/index.ts';
import type { AuditFinding, AuditReport } from '../../client/audit.ts';
import { makeCommand, option, wholeNumber } from '../command.ts';
import type { Context } from '../context.ts';
import { visible } from '../neutral.ts';
import { moment } from '../text.ts';

interface Options {
  readonly task?: string;
  readonly since?: string;
  readonly rows?: string;
}

/** A script can tell the three apart. */
const exitOf = ({ findings }: AuditReport): number => (findings.some(({ kind }) => kind === 'broken') ? 5 : findings.length > 0 ? 1 : 0);

export const auditCommand = () =>
  makeCommand<Options>({
    name: 'audit',
    summary: 'does every row of the ledger keep its promises?',
    description:
      'Asks the live database, at one moment and without locks, whether timeline, states, attempts, effects, receipts, cancels, replays and every roll-up agree. Changes nothing. --json answers {"as_of", "tasks", "checks", "ok", "findings": [{"code", "kind", "count", "says", "rows"}]}; codes are stable and listed in docs/audit.md.',
    options: [
      option('--task <task>', 'one task alone'),
      option('--since <time>', 'tasks that were open at some moment since then (ISO 8601 with a zone)'),
      option('--rows <number>', 'rows shown of each finding, 1 to 1000 (default: 20)'),
    ],
    examples: [
      ['audit', 'the whole ledger'],
      [`audit --since 2026-05-01T00:00:00Z --json | jq '.findings[] | {code, count}'`, 'what was found among recent tasks'],
    ],
    exits: '0 nothing was found; 1 something is late; 2 a bad filter; 3 no such task; 5 a promise is broken',
    async run(context, { task, since, rows }) {
      const report = await (await context.client()).audit({
        ...(task === undefined ? {} : { task }), ...(since === undefined ? {} : { since }), ...(rows === undefined ? {} : { rows: wholeNumber(rows, '--rows') }),
      });
      const findings = report.findings.map((one) => ({ ...one, says: saysOf(one, context) }));
      await context.answer({ ...report, findings }, () => lines(report, context));
      process.exitCode = exitOf(report);
    },
  });

const saysOf = ({ code }: AuditFinding, { lang }: Context): string => AUDIT_CHECKS[code][lang === 'zh-CN' ? 'zh' : 'en'];

function lines(report: AuditReport, context: Context): readonly string[] {
  const { words, terminal: { colours } } = context;
  const found = report.findings.flatMap((finding) => [
    (finding.kind === 'broken' ? colours.red : colours.yellow)(`${finding.code} (${String(finding.count)})`) + ` ${saysOf(finding, context)}`,
    ...finding.rows.map(({ task, step, facts }) => `  ${visible(`${task ?? '-'}${step === null ? '' : `/${step}`} ${JSON.stringify(facts)}`)}`),
    ...(finding.count > finding.rows.length ? [colours.dim(`  ${words.andMore(finding.count - finding.rows.length)}`)] : []),
  ]);
  return [...found, words.audited(report.checks, report.tasks, moment(report.as_of), report.findings.length)];
}
