/** Client of the platform's admin routes: switches faults and reads the platform's own books. */
import type { Fault, NewFault } from './faults.ts';
import type { ReceiptState } from './store.ts';
import type { AccessEntry, Settings, TaskCounts } from './types.ts';

/** All methods throw an Error that names the HTTP status when the platform refuses. */
export class PlatformAdmin {
  readonly #address: string;

  constructor(address: string) {
    this.#address = address;
  }

  async addFault(fault: NewFault): Promise<Fault> {
    return this.#call('POST', '/admin/faults', fault);
  }

  async faults(): Promise<readonly Fault[]> {
    return (await this.#call<{ faults: Fault[] }>('GET', '/admin/faults')).faults;
  }

  /** Switches one fault off, or all; returns how many there were. */
  async removeFaults(id?: string): Promise<number> {
    const path = id === undefined ? '/admin/faults' : `/admin/faults/${encodeURIComponent(id)}`;
    return (await this.#call<{ removed: number }>('DELETE', path)).removed;
  }

  async changeSettings(settings: Partial<Settings>): Promise<Settings> {
    return this.#call('PUT', '/admin/settings', settings);
  }

  /** Requests in order of arrival, after number `after`, up to 5,000. */
  async log(filter: { task?: string; after?: number } = {}): Promise<readonly AccessEntry[]> {
    const query = new URLSearchParams({ limit: '5000', after: String(filter.after ?? 0) });
    if (filter.task !== undefined) query.set('task', filter.task);
    return (await this.#call<{ entries: AccessEntry[] }>('GET', `/admin/log?${query.toString()}`)).entries;
  }

  async receipts(task?: string): Promise<readonly ReceiptState[]> {
    const query = task === undefined ? '' : `?${new URLSearchParams({ task }).toString()}`;
    return (await this.#call<{ receipts: ReceiptState[] }>('GET', `/admin/receipts${query}`)).receipts;
  }

  /** The platform's own count for one task. */
  async counts(task: string): Promise<TaskCounts> {
    const query = new URLSearchParams({ task }).toString();
    const { tasks } = await this.#call<{ tasks: Record<string, TaskCounts> }>('GET', `/admin/state?${query}`);
    const counts = tasks[task];
    if (counts === undefined) throw new Error(`the platform answered without counts for ${task}`);
    return counts;
  }

  /** The platform's own count for all tasks, by task reference. */
  async allCounts(): Promise<Readonly<Record<string, TaskCounts>>> {
    return (await this.#call<{ tasks: Record<string, TaskCounts> }>('GET', '/admin/state')).tasks;
  }

  async #call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${this.#address}${path}`, {
      method,
      signal: AbortSignal.timeout(10_000),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: HTTP ${response.status} ${text.slice(0, 500)}`);
    return JSON.parse(text) as T;
  }
}
