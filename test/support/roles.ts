/** The roles of deploy/postgres/roles.sql in a test's database, and a user of one's own in each. */
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { stackAddresses } from './stack.ts';

export const ROLES = ['owner', 'worker', 'api', 'operator', 'client', 'reader', 'enqueuer'] as const;
export type RoleName = (typeof ROLES)[number];

/** Roles belong to the whole server: one test at a time makes them. */
const LOCK = 7_461_903_553;

async function connected<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export interface Users {
  /** A URL that logs in as a member of throughline_ROLE. */
  url(role: RoleName): string;
  /** After the database is gone. */
  drop(): Promise<void>;
}

/** Runs roles.sql as an administrator does, and makes a user for each role. */
export async function openUsers(databaseUrl: string): Promise<Users> {
  const name = (role: RoleName): string => `${role}_${new URL(databaseUrl).pathname.slice(1, 20)}`;
  const sql = await readFile('deploy/postgres/roles.sql', 'utf8');
  await connected(stackAddresses().databaseUrl, async (admin) => {
    await admin.query('select pg_advisory_lock($1)', [LOCK]);
    await connected(databaseUrl, async (client) => {
      await client.query(sql);
      // Who migrates must make objects as the owner, not as itself.
      for (const role of ROLES) await client.query(`create role ${name(role)} login password 'secret' in role throughline_${role}; ${role === 'owner' ? `alter role ${name(role)} set role = throughline_owner` : ''}`);
    });
  });
  return {
    url(role) {
      const url = new URL(databaseUrl);
      url.username = name(role);
      url.password = 'secret';
      return url.href;
    },
    drop: () => connected(stackAddresses().databaseUrl, async (admin) => {
      await admin.query(`drop role ${ROLES.map(name).join(', ')}`);
    }),
  };
}
