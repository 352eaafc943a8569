/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import type { Page, TaskListRow } from '../../client/client.ts';
import { PHRASES } from '../../client/explain/reading.ts';
import { PARENT_STATUSES, REASON_CODES, REASONS } from '../../state/index.ts';
import { address, taskAddress } from '../address.ts';
import { mayHere, useFrame } from '../frame.ts';
import { Shell } from '../parts/shell.tsx';
import { Code, Name, State, Time } from '../parts/words.tsx';

/** As it stands in the address. */
export interface TaskQuery {
  readonly status?: string | undefined;
  readonly type?: string | undefined;
  readonly reason?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly text?: string | undefined;
  readonly cursor?: string | undefined;
}

interface Props {
  readonly page: Page;
  readonly query: TaskQuery;
  readonly types: readonly string[];
}

export function TasksPage({ page, query, types }: Props) {
  const { m } = useFrame();
  const { cursor, ...filter } = query;
  const filtered = Object.values(filter).some((value) => value !== undefined && value !== '');
  return (
    <Shell title={m.tasks.title} current="tasks">
      <div class="head">
        <h1>{m.tasks.title}</h1>
        <p class="quiet">{m.as_of} <Time at={page.as_of} /> {m.utc}</p>
      </div>
      <Filter query={query} types={types} filtered={filtered} />
      {page.rows.length === 0 ? <p class="card empty">{filtered || cursor !== undefined ? m.tasks.nothing : m.tasks.none_yet}</p> : <Selectable page={page} query={query} />}
      <nav class="pages" aria-label={m.tasks.shown(page.rows.length)}>
        <span class="quiet">{m.tasks.shown(page.rows.length)}</span>
        {cursor === undefined ? null : <a class="button" href={address('/tasks', filter)}>{m.tasks.newest}</a>}
        {page.cursor === null ? null : <a class="button" rel="next" href={address('/tasks', { ...filter, cursor: page.cursor })}>{m.tasks.older}</a>}
      </nav>
    </Shell>
  );
}

function Filter({ query, types, filtered }: Pick<Props, 'query' | 'types'> & { readonly filtered: boolean }) {
  const { m, lang } = useFrame();
  const words = lang === 'en' ? 'en' : 'zh';
  return (
    <form method="get" action={address('/tasks')} class="filter card" role="search" aria-label={m.tasks.filter}>
      <Field id="f-status" label={m.tasks.state}>
        <select id="f-status" name="status">
          <Option value="" chosen={query.status}>{m.tasks.any_state}</Option>
          {PARENT_STATUSES.map((status) => <Option key={status} value={status} chosen={query.status}>{PHRASES[lang].statuses[status]}</Option>)}
        </select>
      </Field>
      <Field id="f-type" label={m.tasks.type}>
        <select id="f-type" name="type">
          <Option value="" chosen={query.type}>{m.tasks.any_type}</Option>
          {types.map((type) => <Option key={type} value={type} chosen={query.type}>{type}</Option>)}
        </select>
      </Field>
      <Field id="f-reason" label={m.tasks.reason}>
        <select id="f-reason" name="reason">
          <Option value="" chosen={query.reason}>{m.tasks.any_reason}</Option>
          {REASON_CODES.map((reason) => <Option key={reason} value={reason} chosen={query.reason}>{REASONS[reason][words]}</Option>)}
        </select>
      </Field>
      <Field id="f-text" wide label={m.tasks.text}>
        <input id="f-text" name="text" type="search" value={query.text ?? ''} maxLength={200} placeholder={m.tasks.text_hint} spellcheck={false} />
      </Field>
      <Field id="f-from" wide label={m.tasks.from}>
        <input id="f-from" name="from" type="datetime-local" value={query.from ?? ''} title={m.tasks.zone} />
      </Field>
      <Field id="f-to" wide label={m.tasks.to}>
        <input id="f-to" name="to" type="datetime-local" value={query.to ?? ''} title={m.tasks.zone} />
      </Field>
      <div class="field buttons">
        <button type="submit" class="primary">{m.tasks.apply}</button>
        {filtered ? <a class="button" href={address('/tasks')}>{m.tasks.clear}</a> : null}
      </div>
    </form>
  );
}

const Field = ({ id, label, wide = false, children }: { readonly id: string; readonly label: string; readonly wide?: boolean; readonly children: ComponentChildren }) => (
  <div class={wide ? 'field wide' : 'field'}>
    <label for={id}>{label}</label>
    {children}
  </div>
);

const Option = ({ value, chosen = '', children }: { readonly value: string; readonly chosen?: string | undefined; readonly children: string }) => (
  <option value={value} selected={value === chosen}>{children}</option>
);

/** Who may act on many selects rows here; a dry run of what was selected is the next page. */
function Selectable({ page, query }: Pick<Props, 'page' | 'query'>) {
  const frame = useFrame();
  if (!mayHere(frame, 'bulk')) return <Rows page={page} selectable={false} />;
  const { bulks } = frame.m.actions;
  const { cursor: _, ...filter } = query;
  const scoped = filter.text === undefined && [filter.status, filter.type, filter.reason].some((value) => value !== undefined);
  return (
    <form method="get" action={address('/bulks/new')} aria-label={bulks.title}>
      <Rows page={page} selectable />
      {Object.entries(filter).map(([name, value]) => (value === undefined ? null : <input key={name} type="hidden" name={name} value={value} />))}
      <fieldset class="card select-bar">
        <legend class="away">{bulks.title}</legend>
        <label for="scope" class="away">{bulks.selection}</label>
        <select id="scope" name="scope">
          <option value="selected">{bulks.with_selected}</option>
          {scoped ? <option value="all">{bulks.with_all}</option> : null}
        </select>
        <button type="submit" name="kind" value="replay">{bulks.dry.replay}</button>
        <button type="submit" name="kind" value="cancel">{bulks.dry.cancel}</button>
      </fieldset>
    </form>
  );
}

function Rows({ page, selectable }: { readonly page: Page; readonly selectable: boolean }) {
  const { m } = useFrame();
  return (
    <div class="scroll card">
      <table class="tasks">
        <caption class="away">{m.tasks.title}</caption>
        <thead>
          <tr>
            {selectable ? <th scope="col" class="pick"><input type="checkbox" data-pick-all aria-label={m.actions.bulks.select_all} /></th> : null}
            <th scope="col">{m.tasks.task}</th>
            <th scope="col">{m.tasks.state_column}</th>
            <th scope="col">{m.tasks.reason_column}</th>
            <th scope="col">{m.tasks.next}</th>
            <th scope="col">{m.tasks.since}</th>
            <th scope="col">{m.tasks.accepted}</th>
          </tr>
        </thead>
        <tbody>{page.rows.map((row) => <Row key={row.id} row={row} asOf={page.as_of} selectable={selectable} />)}</tbody>
      </table>
    </div>
  );
}

function Row({ row, asOf, selectable }: { readonly row: TaskListRow; readonly asOf: string; readonly selectable: boolean }) {
  const { m, lang } = useFrame();
  const reason = REASONS[row.reason][lang === 'en' ? 'en' : 'zh'];
  return (
    <tr>
      {selectable ? <td class="pick"><input type="checkbox" name="task" value={row.id} aria-label={m.actions.bulks.select(row.key ?? row.id)} /></td> : null}
      <th scope="row" class="what">
        <a href={taskAddress(row.id)}>{row.key === null ? <span class="quiet">{m.tasks.no_key}</span> : <Name>{row.key}</Name>}</a>
        <span class="sub"><Name>{row.type}</Name> <Code>{row.id}</Code></span>
      </th>
      <td data-label={m.tasks.state_column}><State state={row.status} /></td>
      <td data-label={m.tasks.reason_column} class="why">
        {row.held_by === null ? null : <span class="step"><Name>{row.held_by}</Name></span>}
        <span title={row.reason}>{reason}</span>
      </td>
      <td data-label={m.tasks.next} class={row.next_at === null ? 'when nothing' : 'when'}>{row.next_at === null ? <span class="quiet">–</span> : <Time at={row.next_at} from={asOf} only="distance" />}</td>
      <td data-label={m.tasks.since} class="when"><Time at={row.since} from={asOf} only="distance" /></td>
      <td data-label={m.tasks.accepted} class="when"><Time at={row.created_at} only="moment" /></td>
    </tr>
  );
}
