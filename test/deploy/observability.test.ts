/** Dashboard and alert rules speak of metrics that exist, with labels that they have; PromQL is parsed, not guessed. */
import { describe, expect, test } from '@jest/globals';
import { parser } from '@prometheus-io/lezer-promql';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { Metrics } from '../../src/metrics/index.ts';

interface Panel { readonly title: string; readonly type: string; readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[] }
interface Rule { readonly alert: string; readonly expr: string; readonly for?: string; readonly labels: { readonly severity: string }; readonly annotations: { readonly summary: string; readonly todo: string } }

const dashboard = JSON.parse(readFileSync('deploy/grafana/throughline.json', 'utf8')) as { readonly panels: readonly Panel[] };
const rules = (parse(readFileSync('deploy/prometheus/alerts.yml', 'utf8')) as { readonly groups: readonly { readonly rules: readonly Rule[] }[] }).groups.flatMap((group) => group.rules);

/** Each series by the name that it is exposed under, with its labels; what Prometheus adds is there for each. */
const series = await (async () => {
  const metrics = new Metrics();
  metrics.readLedger({ gauges: () => Promise.reject(new Error('not asked')) });
  const found = new Map<string, ReadonlySet<string>>();
  for (const { name, type } of await metrics.registry.getMetricsAsJSON()) {
    const { labelNames } = metrics.registry.getSingleMetric(name) as unknown as { readonly labelNames: readonly string[] };
    const labels = new Set([...labelNames, 'instance', 'job']);
    if ((type as unknown as string) === 'histogram') for (const [suffix, more] of [['_bucket', 'le'], ['_sum', ''], ['_count', '']] as const) found.set(name + suffix, new Set([...labels, more]));
    else found.set(name, labels);
  }
  return found;
})();

/** Metric names, and the labels that are matched or grouped by; throws where the expression can't be parsed. */
function read(expr: string): { readonly names: readonly string[]; readonly labels: readonly string[] } {
  const names: string[] = [];
  const labels: string[] = [];
  parser.parse(expr).iterate({
    enter(node) {
      if (node.type.isError) throw new Error(`no PromQL at ${String(node.from)}: ${expr}`);
      const text = expr.slice(node.from, node.to);
      if (node.name === 'Identifier' && node.node.parent?.name === 'VectorSelector') names.push(text);
      if (node.name === 'LabelName') labels.push(text);
    },
  });
  return { names, labels };
}

function expectKnown(expr: string): void {
  const { names, labels } = read(expr);
  expect([expr, names.length > 0]).toEqual([expr, true]);
  for (const name of names) expect([name, series.has(name)]).toEqual([name, true]);
  // Grouped by a label that a metric lacks, all series fall into one.
  for (const label of labels) for (const name of names) expect([expr, label, series.get(name)?.has(label)]).toEqual([expr, label, true]);
}

test('the check itself finds a name, a label and a parenthesis that are wrong', () => {
  expect(() => read('sum(rate(throughline_attempts_total[5m])')).toThrow('no PromQL');
  expect(read('sum by (type) (rate(throughline_attempts_total{how="failed"}[5m]))')).toEqual({ names: ['throughline_attempts_total'], labels: ['type', 'how'] });
  expect(series.has('throughline_attempt_total')).toBe(false);
});

describe('the dashboard', () => {
  const charts = dashboard.panels.flatMap(({ title, targets = [] }) => targets.map((target) => [title, target] as const));
  test.each(charts)('%s asks for what there is', (_, { expr, legendFormat }) => {
    expectKnown(expr);
    const grouped = read(expr).labels;
    for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) expect(grouped).toContain(label);
  });

  test('shows every metric of ours but the loops\' clock, which an alert reads', () => {
    const shown = new Set([...charts.map(([, { expr }]) => expr), ...rules.map(({ expr }) => expr)].flatMap((expr) => read(expr).names).map((name) => name.replace(/_(bucket|sum|count)$/, '')));
    const ours = [...series.keys()].filter((name) => name.startsWith('throughline_')).map((name) => name.replace(/_(bucket|sum|count)$/, ''));
    expect([...new Set(ours)].filter((name) => !shown.has(name)).sort()).toEqual([
      'throughline_actions_total', 'throughline_api_refusals_total', 'throughline_drift_results_total', 'throughline_intents_refused_total', 'throughline_ledger_truncated', 'throughline_receipts_total', 'throughline_sweeper_results_total',
    ]);
  });
});

describe('the alert', () => {
  test.each(rules.map((rule) => [rule.alert, rule] as const))('%s asks for what there is and says what to do', (name, { expr, labels, annotations, for: lasting = '0s' }) => {
    expect(name).toMatch(/^Throughline[A-Z]\w+$/);
    expectKnown(expr);
    expect(lasting).toMatch(/^\d+[smh]$/);
    expect(['page', 'ticket']).toContain(labels.severity);
    expect(Object.keys(annotations).sort()).toEqual(['summary', 'todo']);
    for (const [, label] of annotations.summary.matchAll(/\$labels\.(\w+)/g)) expect(read(expr).labels).toContain(label);
  });

  test('is one of those that docs/observability.md explains', () => {
    const page = readFileSync('docs/observability.md', 'utf8');
    for (const { alert } of rules) expect(page).toContain(`\`${alert}\``);
    for (const name of series.keys()) if (name.startsWith('throughline_')) expect(page).toContain(name.replace(/_(bucket|sum|count)$/, ''));
  });
});
