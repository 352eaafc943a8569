/**
 * Copies finished tasks, whole: every row of every table that belongs to them, with ids, entry numbers, keys and times of their
 * own. Set-based SQL; the server's triggers and foreign keys are off for the load, and the copies are checked by the audit afterwards.
 */
import pg from 'pg';
import type { Template } from './templates.ts';

/** A day apart at most: the copies lie in the past month. */
const SPAN_S = 30 * 86_400;
const BATCH = 10_000;

/** An id of copy k: UUIDv7 keep their order and move with the time, others are digests. */
const FUNCTIONS = `
create schema if not exists bench;
create or replace function bench.id(u uuid, k integer, shift_ms bigint) returns uuid language sql immutable as $$
  select case when substr(u::text, 15, 1) = '7'
    then (lpad(to_hex(('x' || substr(replace(u::text, '-', ''), 1, 12))::bit(48)::bigint - shift_ms), 12, '0') || '7' || substr(md5(u::text || k::text), 1, 3) || '8' || substr(md5(u::text || k::text), 4, 15))::uuid
    else (substr(md5(u::text || k::text), 1, 12) || '4' || substr(md5(u::text || k::text), 14, 3) || '8' || substr(md5(u::text || k::text), 18, 15))::uuid end
$$;`;

interface Column {
  readonly table: string;
  readonly column: string;
  readonly type: string;
}

const quoted = (name: string): string => `"${name}"`;

/** Statements that copy one template: $1 first copy, $2 last, $3 all copies, $4 the entry number of copy zero. */
async function statementsFor(sql: pg.Client, template: Template, columns: readonly Column[], first: number, width: number): Promise<readonly string[]> {
  const tables = [...new Set(columns.map(({ table }) => table))];
  const own = tables.map((table) => ({ table, columns: columns.filter((one) => one.table === table), where: `${table === 'task' ? 'id' : 'task_id'} = '${template.id}'` }));
  const found = new Set<string>();
  for (const { table, columns: all, where } of own) {
    for (const { column } of all.filter(({ type }) => type === 'uuid')) {
      const { rows } = await sql.query<{ id: string }>(`select distinct ${quoted(column)}::text as id from throughline.${table} where ${where} and ${quoted(column)} is not null`);
      for (const { id } of rows) found.add(id);
    }
  }
  // Each id of the template has its successor computed once a copy, not once a row.
  const ids = [...found].map((id, index) => ({ id, as: `c.u${String(index)}` }));
  const statements: string[] = [];
  for (const { table, columns: all, where } of own) {
    const expressions: string[] = [];
    for (const { column, type } of all) {
      const { rows: [there] } = await sql.query<{ n: number; body: string }>(`select count(*)::int as n, coalesce(string_agg(${quoted(column)}::text, ' '), '') as body from throughline.${table} where ${where}`);
      if (there === undefined || there.n === 0) break;
      const value = `t.${quoted(column)}`;
      const said = ids.filter(({ id }) => there.body.includes(id));
      if (type === 'uuid') expressions.push(said.length === 0 ? value : `case ${value} ${said.map(({ id, as }) => `when '${id}' then ${as}`).join(' ')} end`);
      else if (type === 'timestamptz') expressions.push(`${value} - c.shift`);
      else if ((table === 'timeline' && column === 'id') || column === 'seq') expressions.push(`$4::bigint + k::bigint * ${String(width)} + (${value} - ${String(first)})`);
      else if (type !== 'text' && type !== 'jsonb') expressions.push(value);
      else {
        const keyed = there.body.includes(template.key) ? `replace(${value}::text, '${template.key}', '${template.key}-' || k)` : `${value}::text`;
        const text = said.reduce((inner, { id, as }) => `replace(${inner}, '${id}', ${as}::text)`, keyed);
        expressions.push(text === `${value}::text` ? value : `(${text})::${type}`);
      }
    }
    if (expressions.length < all.length) continue;
    statements.push(`insert into throughline.${table} (${all.map(({ column }) => quoted(column)).join(', ')}) overriding system value
      select ${expressions.join(', ')}
      from (select k, make_interval(secs => shift_ms / 1000.0) as shift, ${ids.map(({ id }, index) => `bench.id('${id}', k, shift_ms) as u${String(index)}`).join(', ')}
          from (select k, (($3::bigint - k) * ${String(SPAN_S * 1_000)} / $3::bigint)::bigint as shift_ms from generate_series($1::integer, $2::integer) k offset 0) s offset 0) c,
        (select * from throughline.${table} where ${where} offset 0) t`);
  }
  return statements;
}

/** Loads `count` copies and analyzes. Says how far it is. */
export async function loadCopies(databaseUrl: string, templates: readonly Template[], count: number, say: (line: string) => void): Promise<void> {
  const sql = new pg.Client({ connectionString: databaseUrl, application_name: 'bench-load' });
  await sql.connect();
  try {
    await sql.query(FUNCTIONS);
    await sql.query(`set session_replication_role = replica; set synchronous_commit = off; set work_mem = '256MB'; set maintenance_work_mem = '512MB'`);
    const { rows: columns } = await sql.query<Column>(`select c.table_name as table, c.column_name as column, c.udt_name as type from information_schema.columns c
      join information_schema.tables b using (table_schema, table_name)
      where c.table_schema = 'throughline' and b.table_type = 'BASE TABLE' and c.is_generated = 'NEVER' and (c.table_name = 'task'
        or exists (select from information_schema.columns x where x.table_schema = 'throughline' and x.table_name = c.table_name and x.column_name = 'task_id'))
        and c.table_name not in ('outbox', 'notification', 'bulk_item', 'pruned', 'recovery') order by c.table_name, c.ordinal_position`);
    const copied: { readonly template: Template; readonly width: number; readonly statements: readonly string[] }[] = [];
    for (const template of templates) {
      const { rows: [range] } = await sql.query<{ first: string; width: string }>('select min(id) as first, max(id) - min(id) + 1 as width from throughline.timeline where task_id = $1', [template.id]);
      const [first, width] = [Number(range?.first), Number(range?.width)];
      copied.push({ template, width, statements: await statementsFor(sql, template, columns, first, width) });
    }
    const { rows: [start] } = await sql.query<{ id: string }>('select max(id) + 1000 as id from throughline.timeline');
    let entry = Number(start?.id);
    for (let done = 0; done < count; done += BATCH) {
      const size = Math.min(BATCH, count - done);
      let from = done + 1;
      await sql.query('begin');
      for (const [index, { template, width, statements }] of copied.entries()) {
        const to = index === copied.length - 1 ? done + size : from + Math.round((size * template.share) / 100) - 1;
        if (to < from) continue;
        for (const statement of statements) await sql.query(statement, statement.includes('$4') ? [from, to, count, entry - from * width] : [from, to, count]);
        entry += (to - from + 1) * width;
        from = to + 1;
      }
      await sql.query('commit');
      if ((done / BATCH) % 10 === 9) say(`loaded ${String(done + size)}`);
    }
    await sql.query(`select setval(pg_get_serial_sequence('throughline.timeline', 'id'), $1)`, [entry + 1]);
    say('vacuum analyze');
    await sql.query('vacuum (analyze) throughline.task, throughline.timeline, throughline.step, throughline.dedupe, throughline.effect, throughline.request, throughline.receipt, throughline.artifact, throughline.acceptance, throughline.cancel, throughline.cancel_step');
  } finally {
    await sql.end();
  }
}
