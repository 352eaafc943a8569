import { describe, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import pg from 'pg';
import { SEARCH_ATTRIBUTES } from '../../src/dev/search-attributes.ts';
import { stackAddresses } from '../support/stack.ts';

describe('the stack of a test run', () => {
  test('answers as Postgres 18 with room for many connections', async () => {
    const client = new pg.Client({ connectionString: stackAddresses().databaseUrl });
    await client.connect();
    try {
      const { rows } = await client.query<{ version: string; max: number }>(
        "select current_setting('server_version') as version, current_setting('max_connections')::int as max",
      );
      expect(rows[0]?.version).toMatch(/^18\./);
      expect(rows[0]?.max).toBeGreaterThanOrEqual(100);
    } finally {
      await client.end();
    }
  });

  test('has the search attributes registered in Temporal', async () => {
    const { temporalAddress, temporalNamespace } = stackAddresses();
    const connection = await Connection.connect({ address: temporalAddress });
    try {
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: temporalNamespace });
      expect(Object.keys(customAttributes)).toEqual(expect.arrayContaining([...SEARCH_ATTRIBUTES]));
    } finally {
      await connection.close();
    }
  });
});
