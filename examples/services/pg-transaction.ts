/** A business row and its task in one transaction of plain `pg`: both are there, or neither. The ledger lives in the same database. */
import type pg from 'pg';
import type { ThroughlineClient } from '../../src/index.ts';

export interface Note {
  readonly slug: string;
  readonly title: string;
}

/** The new task's id. `check` stands for whatever else the transaction does; if it throws, nothing has happened. */
export async function saveAndPublish(pool: pg.Pool, client: ThroughlineClient, note: Note, check: () => Promise<void> = () => Promise.resolve()): Promise<string> {
  const tx = await pool.connect();
  try {
    await tx.query('begin');
    await tx.query('insert into note (slug, title) values ($1, $2)', [note.slug, note.title]);
    const { id } = await client.enqueue('publish-note', { note: note.slug, revision: 1 }, { key: `publish/${note.slug}`, by: 'service:notes', tx });
    await check();
    await tx.query('commit');
    return id;
  } catch (error) {
    await tx.query('rollback');
    throw error;
  } finally {
    tx.release();
  }
}
