/** Addresses of pages, made in one place; ids and keys with odd characters stay whole. */
export const BASE = '/console';

type Query = Readonly<Record<string, string | number | null | undefined>>;

/** A page's address, without the parts of the query that say nothing. */
export function address(path: string, query: Query = {}): string {
  const said = Object.entries(query).filter((entry): entry is [string, string | number] => entry[1] !== undefined && entry[1] !== null && entry[1] !== '');
  const text = new URLSearchParams(said.map(([name, value]) => [name, String(value)])).toString();
  return `${BASE}${path}${text === '' ? '' : `?${text}`}`;
}

export const taskAddress = (task: string, path = ''): string => address(`/tasks/${encodeURIComponent(task)}${path}`);

/** Where to go after signing in: a page of this console, never another site's. */
export function ownAddress(wanted: unknown): string {
  if (typeof wanted !== 'string' || wanted.length > 2_000 || !URL.canParse(wanted, 'http://console.invalid')) return address('/');
  const { origin, pathname, search } = new URL(wanted, 'http://console.invalid');
  const own = origin === 'http://console.invalid' && (pathname === BASE || pathname.startsWith(`${BASE}/`));
  return own && !wanted.includes('\\') ? `${pathname}${search}` : address('/');
}

export const bulkAddress = (kind: string, id: string, path = '', query: Query = {}): string => address(`/bulks/${kind}/${encodeURIComponent(id)}${path}`, query);

/** The page of an action on a task. */
export const actionAddress = (task: string, action: string, query: Query = {}): string => address(`/tasks/${encodeURIComponent(task)}/do/${action}`, query);
