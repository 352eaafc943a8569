import {
  atRest,
  CATEGORIES,
  EVENT_NAMES,
  EVENTS,
  FACT_NAMES,
  FACTS,
  PARENT_RULES,
  REASON_CODES,
  reasonOf,
  RULES,
  rollUp,
  STATE_MEANINGS,
  STEP_STATES,
} from '../src/state/index.ts';
import type { Rule } from '../src/state/index.ts';

const guardText = (rule: Rule): string => FACT_NAMES.flatMap((fact) => (rule.guard[fact] === undefined ? [] : [rule.guard[fact] ? fact : `not ${fact}`])).join(', ') || '(always)';

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [`| ${head.join(' | ')} |`, `|${head.map(() => '---').join('|')}|`, ...rows.map((row) => `| ${row.join(' | ')} |`)].join('\n');

function diagram(): string {
  const arrows = new Map<string, Set<string>>();
  for (const rule of RULES) {
    for (const from of rule.from) {
      if (rule.to === null || rule.to === from) continue;
      const key = `${from === 'none' ? '[*]' : from} --> ${rule.to}`;
      arrows.set(key, (arrows.get(key) ?? new Set()).add(rule.event));
    }
  }
  const lines = [...arrows].sort(([a], [b]) => a.localeCompare(b, 'en')).map(([arrow, events]) => `  ${arrow}: ${[...events].slice(0, 3).join(', ')}${events.size > 3 ? ', …' : ''}`);
  return ['```mermaid', 'stateDiagram-v2', ...lines, '  succeeded --> [*]', '  cancelled --> [*]', '```'].join('\n');
}

function rows(): string {
  return EVENT_NAMES.map((event) => {
    const own = RULES.filter((rule) => rule.event === event);
    const body = own.map((rule) => [`\`${rule.label}\``, rule.from.join(', '), guardText(rule), rule.to ?? '(itself)', rule.reasons.map((code) => `\`${code}\``).join(', '), rule.by]);
    return `### ${event}\n\n${EVENTS[event]}\n\n${table(['rule', 'from', 'guard', 'to', 'reasons', 'caused by'], body)}\n`;
  }).join('\n');
}

/** docs/state-machine.md: states, diagram, facts, every row, the parent, reasons and categories. */
export function stateMachineMarkdown(): string {
  const states = table(['state', 'the one thing it means', 'terminal'], STEP_STATES.map((state) => [`\`${state}\``, STATE_MEANINGS[state].en, STATE_MEANINGS[state].terminal ? 'yes' : '']));
  const facts = table(['fact', 'true when'], FACT_NAMES.map((fact) => [`\`${fact}\``, FACTS[fact]]));
  const parents = table(['first match wins', 'steps', 'means'], PARENT_RULES.map((rule) => [`\`${rule.status}\``, rule.quantifier === 'otherwise' ? 'otherwise' : `${rule.quantifier} ${rule.states.join(', ')}`, rule.en]));
  const reasons = table(
    ['reason', 'means', '意思', 'ends', 'answers a cancel with'],
    REASON_CODES.map((code) => {
      const reason = reasonOf(code);
      return [`\`${code}\``, reason.en, reason.zh, reason.ended_by ?? '', reason.verdict === undefined ? '' : `\`${reason.verdict}\``];
    }),
  );
  const categories = table(['category', 'means', 'retryable'], Object.entries(CATEGORIES).map(([name, { en, retryable }]) => [`\`${name}\``, en, retryable ? 'yes' : 'no']));
  const example = `For example, [dead, waiting] is \`${rollUp(['dead', 'waiting'])}\` and ${atRest(['dead', 'waiting']) ? 'at rest' : 'not at rest'}: the second step waits on the dead one.`;
  return `<!-- Generated from src/state by \`npm run generate\`; do not edit. -->
# The state machine of a step

One table decides (\`src/state/machine.ts\`). It is read by the pure \`next()\`, by the database (rule table and
foreign key), by the tests, by \`explain\`, and by this page. For each event, state and facts exactly one row
applies, or the event is refused and nothing changes. Guards are asked in the order open, confirmed, cancel, attempts.

Above all rows:

1. No edge enters \`queued\` or \`leased\` while a cancel is set.
2. No edge enters \`queued\`, \`submitted\`, \`completed\` or \`cancelled\` while an effect is open.
3. No edge enters \`queued\` or \`cancelled\` while the submitting effect of the live generation is confirmed.
4. The submitting effect is the step's last: its intent is refused while another effect is open, and none follows it.
5. Own inbox, cancel set, no verdict stored: an edge to \`submitted\`, \`received\` or \`in_progress\` goes to \`cancelled\`.

## States

${states}

## Diagram

${diagram()}

## Facts

${facts}

## Rows

A rule with two reasons writes two edges in one call; where the first says that an attempt failed, the edges pass
through \`failed\`, which no stored row ever holds. "(itself)" is evidence without a move.

${rows()}
## The parent

${parents}

At rest: each step succeeded, cancelled, dead, or waiting on a dead one. ${example}

## Reasons

${reasons}

## Error categories

${categories}
`;
}
