/** Replays and cancels of many over HTTP: workers drive them, once they are applied. */
import { randomUUID } from 'node:crypto';
import type { BulkInput, BulkItemQuery } from '../client/bulk.ts';
import type { BulkSurface } from '../client/surface.ts';
import { checkedUuid } from '../define/ids.ts';
import type { BulkItemPage, BulkPage, BulkRow } from '../ledger/index.ts';

/** How a request is made, its answer read, and who acts where a call doesn't say. */
export interface Sender {
  get<A>(path: string, query?: object): Promise<A>;
  post<A>(path: string, body: object): Promise<A>;
  readonly by: string | undefined;
}

export class HttpBulks<Input extends BulkInput> implements BulkSurface<Input> {
  readonly #send: Sender;
  readonly #path: string;

  constructor(send: Sender, name: 'replays' | 'cancels') {
    this.#send = send;
    this.#path = `v1/${name}`;
  }

  async create(input: Input): Promise<BulkRow> {
    return this.#send.post(this.#path, { ...input, id: input.id === undefined ? randomUUID() : checkedUuid(input.id, '/id'), by: input.by ?? this.#send.by });
  }

  async get(id: string): Promise<BulkRow> {
    return this.#send.get(this.#of(id));
  }

  async list(page: { readonly limit?: number; readonly cursor?: string } = {}): Promise<BulkPage> {
    return this.#send.get(this.#path, page);
  }

  async items(id: string, query: BulkItemQuery = {}): Promise<BulkItemPage> {
    return this.#send.get(this.#of(id, '/items'), query);
  }

  async apply(id: string, { by }: { readonly by?: string } = {}): Promise<BulkRow> {
    return this.#send.post(this.#of(id, '/apply'), { by: by ?? this.#send.by });
  }

  async abort(id: string, { by, why }: { readonly by?: string; readonly why: string }): Promise<BulkRow> {
    return this.#send.post(this.#of(id, '/abort'), { why, by: by ?? this.#send.by });
  }

  #of(id: string, part = ''): string {
    return `${this.#path}/${checkedUuid(id, '/id')}${part}`;
  }
}
