import { edgesOf, FACT_NAMES, LIMITS, PARENT_RULES, REASON_CODES, reasonOf, RULES, STEP_STATES } from '../src/state/index.ts';

const text = (value: string | null | undefined): string => (value === null || value === undefined ? 'null' : `'${value.replaceAll("'", "''")}'`);
const column = (name: string): string => (name === 'left' ? '"left"' : name);

/** Limits that the ledger's functions need, as functions of the same name. */
const SQL_LIMITS = ['send_permission_ms', 'lease_margin_ms', 'cancel_verdict_ms'] as const;

function reasons(): string {
  const rows = REASON_CODES.map((code) => {
    const { verdict, ended_by } = reasonOf(code);
    return `  (${text(code)}, ${text(verdict)}, ${text(ended_by)})`;
  });
  return `insert into throughline.reason (code, cancel_verdict, ended_by) values\n${rows.join(',\n')}\non conflict (code) do update set cancel_verdict = excluded.cancel_verdict, ended_by = excluded.ended_by;\n`;
}

function rules(): string {
  const columns = ['label', 'event', 'from_state', ...FACT_NAMES.map(column), 'via_state', 'via_reason', 'to_state', 'reason'];
  const rows = RULES.flatMap((rule) =>
    rule.from.map((from) => {
      const edges = edgesOf(rule, from);
      const via = edges.length === 2 ? edges[0] : undefined;
      const last = edges.at(-1);
      const facts = FACT_NAMES.map((fact) => (rule.guard[fact] === undefined ? 'null' : String(rule.guard[fact])));
      return `  (${[text(rule.label), text(rule.event), text(from), ...facts, text(via?.to), text(via?.reason), text(last?.to), text(last?.reason)].join(', ')})`;
    }),
  );
  return `delete from throughline.transition_rule;\ninsert into throughline.transition_rule (${columns.join(', ')}) values\n${rows.join(',\n')};\n`;
}

function edges(): string {
  const rows = RULES.flatMap((rule) =>
    rule.from.flatMap((from) =>
      edgesOf(rule, from).map((edge, part) => `  (${[text(rule.label), String(part + 1), text(edge.from), text(edge.to), text(edge.reason)].join(', ')})`),
    ),
  );
  const rest = STEP_STATES.filter((state) => state !== 'failed');
  const byHand = rest.flatMap((from) => rest.map((to) => `  ('manual', 1, ${text(from)}, ${text(to)}, 'manual_correction')`));
  return `-- Edges are only ever added: the timeline refers to them.\ninsert into throughline.transition_edge (rule, part, from_state, to_state, reason) values\n${[...new Set([...rows, ...byHand])].join(',\n')}\non conflict do nothing;\n`;
}

function parents(): string {
  const rows = PARENT_RULES.map(
    (rule, index) => `  (${String(index + 1)}, ${text(rule.status)}, ${text(rule.quantifier)}, array[${rule.states.map(text).join(', ')}]::text[])`,
  );
  return `insert into throughline.parent_rule (ordinal, status, quantifier, states) values\n${rows.join(',\n')}\non conflict (ordinal) do update set status = excluded.status, quantifier = excluded.quantifier, states = excluded.states;\n`;
}

function matcher(): string {
  const guards = FACT_NAMES.map((fact) => `    and (r.${column(fact)} is null or r.${column(fact)} = (f).${column(fact)})`);
  return `-- The one row that decides; an empty one: the machine refuses. Two rows would be an error of the table.
create or replace function throughline._rule(p_event text, p_from text, f throughline.facts) returns throughline.transition_rule language plpgsql stable as $$
declare
  v_rule throughline.transition_rule;
  v_found integer := 0;
begin
  for v_rule in select r.* from throughline.transition_rule r where r.event = p_event and r.from_state = p_from
${guards.join('\n')}
    limit 2
  loop
    v_found := v_found + 1;
    if v_found > 1 then raise exception 'broken promise: one row decides (% in %)', p_event, p_from using errcode = 'TL001'; end if;
  end loop;
  return v_rule;
end $$;
`;
}

function limits(): string {
  return SQL_LIMITS.map((name) => `create or replace function throughline._${name}() returns bigint language sql immutable as $$ select ${String(LIMITS[name])}::bigint $$;\n`).join('');
}

/** The SQL that brings src/state's tables into the database. */
export function rulesSql(): string {
  return ['-- Generated from src/state by `npm run generate`; do not edit.\n', reasons(), rules(), edges(), parents(), matcher(), limits()].join('\n');
}
