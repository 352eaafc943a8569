/** A ledger of one's own with the API in front of it, on a real port. */
import { createApi } from '../../src/api/index.ts';
import type { Api, ApiOptions } from '../../src/api/index.ts';
import { createClient } from '../../src/client/client.ts';
import type { ThroughlineClient } from '../../src/client/client.ts';
import type { Role } from '../../src/state/index.ts';
import { openLedger } from './ledger.ts';
import type { Ledger } from './ledger.ts';

export interface ApiUnderTest {
  readonly ledger: Ledger;
  readonly client: ThroughlineClient;
  readonly api: Api;
  readonly url: string;
  /** A token of this role, made at its first use. */
  token(role: Role, types?: readonly string[]): Promise<string>;
  /** A request as this role; JSON in and out. */
  call(role: Role | null, method: string, path: string, options?: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }): Promise<Answer>;
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown> & { code?: string; path?: string };
}

export async function openApi(options: Partial<ApiOptions> = {}): Promise<ApiUnderTest> {
  const ledger = await openLedger();
  const client = createClient({ databaseUrl: ledger.url, by: 'test' });
  const api = await createApi({ client, ...options });
  const url = await api.listen({ host: '127.0.0.1', port: 0 });
  const tokens = new Map<string, Promise<string>>();
  const token = (role: Role, types: readonly string[] = []): Promise<string> => {
    const key = [role, ...types].join('.');
    let made = tokens.get(key);
    if (made === undefined) tokens.set(key, (made = client.access.createToken({ name: key, role, types }).then((row) => row.token)));
    return made;
  };
  return {
    ledger, client, api, url, token,
    async call(role, method, path, { body, headers = {} } = {}) {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { ...(role === null ? {} : { authorization: `Bearer ${await token(role)}` }), ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.includes('json') === true;
      return { status: response.status, headers: response.headers, text, body: (isJson ? JSON.parse(text) : {}) as Answer['body'] };
    },
    async close() {
      await api.close();
      await client.close();
      await ledger.close();
    },
  };
}
