import type { View } from '../state/view.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|');

/** The table that Temporal's UI shows for a running workflow. */
export function detailsOf(view: View): string {
  const rows = view.steps.map((step) => `| ${cell(step.name)} | ${step.state} | ${step.reason} | ${String(step.attempt)} |`);
  return [`**${view.status}** as of ${view.as_of} (ledger entry ${String(view.seq)})`, '', '| step | state | reason | attempts |', '|---|---|---|---|', ...rows].join('\n');
}
