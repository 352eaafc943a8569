/** The API's description, from its routes. Needs no database: nothing is asked before the first request. */
import { createApi } from '../src/api/index.ts';
import { createClient } from '../src/client/client.ts';

export async function openapiJson(): Promise<string> {
  const client = createClient({ databaseUrl: 'postgres://localhost/none' });
  const api = await createApi({ client });
  const description = api.app.swagger();
  await api.close();
  await client.close();
  return `${JSON.stringify(description, null, 2)}\n`;
}
