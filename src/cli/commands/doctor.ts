import { versionOfPackage } from '../version.ts';
import { makeCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { finding, worst } from '../doctor/findings.ts';
import type { Finding, Level } from '../doctor/findings.ts';
import { LEVELS, SUMMARY, wordsOf } from '../doctor/words.ts';
import { visible } from '../neutral.ts';
import { sentence } from '../status.ts';
import { pad, widthOf } from '../width.ts';

/** A script can tell the three apart. */
const EXITS: Readonly<Record<Level, number>> = { ok: 0, warning: 1, problem: 5 };

export const doctorCommand = () =>
  makeCommand({
    name: 'doctor',
    summary: 'is everything that Throughline stands on as it should be, and what to do if not?',
    description:
      "Checks Postgres (version, settings, replication), the schema (migrations, functions that were edited), clocks, Temporal (namespace, search attributes, pollers), and what waits for a person: parked wake-ups, dead steps, overdue cancels and receipts. Changes nothing. --json answers {\"level\", \"findings\": [{\"code\", \"level\", \"facts\", \"says\", \"todo\"}]}; codes are stable.",
    examples: [
      ['doctor', 'before the first start, and when something is odd'],
      [`doctor --json | jq -r '.findings[] | select(.level != "ok") | .code'`, 'only what is not as it should be'],
    ],
    exits: '0 all is well; 1 something wants a look; 5 something does not work or a promise is in danger',
    async run(context) {
      const { config, lang } = context;
      const [{ checkLedger }, { checkTemporal }] = await Promise.all([import('../doctor/ledger.ts'), import('../doctor/temporal.ts')]);
      const [ledger, temporal] = await Promise.all([
        config.databaseUrl === undefined ? [finding('problem', 'DATABASE_URL_MISSING')] : checkLedger(config.databaseUrl),
        checkTemporal(config),
      ]);
      const findings = [finding('ok', 'PROGRAM', { version: versionOfPackage(), node: process.versions.node }), ...ledger, ...temporal];
      const level = worst(findings);
      await context.answer({ level, findings: findings.map((one) => ({ ...one, ...wordsOf(one.code, one.facts, lang) })) }, () => lines(findings, level, context));
      process.exitCode = EXITS[level];
    },
  });

function lines(findings: readonly Finding[], level: Level, { lang, terminal: { colours, width } }: Context): readonly string[] {
  const labels = LEVELS[lang];
  const column = Math.max(...Object.values(labels).map(widthOf)) + 2;
  const paint = { ok: colours.dim, warning: colours.yellow, problem: colours.red };
  const indent = ' '.repeat(column);
  return [
    ...findings.flatMap(({ code, level: of, facts }) => {
      const { says, todo } = wordsOf(code, facts, lang);
      const [first = '', ...rest] = sentence(visible(says), width, indent);
      return [
        paint[of](pad(labels[of], column)) + first.slice(column),
        ...rest,
        // What to do, and the code to search for, only where there is something.
        ...(of === 'ok' ? [] : [...(todo === '' ? [] : sentence(`→ ${visible(todo)}`, width, indent)), indent + colours.dim(code)]),
      ];
    }),
    '',
    SUMMARY[lang][level],
  ];
}
