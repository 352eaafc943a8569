/** The door's and the reader's part for tokens and senders' keys: one method for each function of 96-access.sql. */
import type { Role } from '../state/index.ts';
import type { Database } from './database.ts';

/** A token as it may be shown. Times are ISO 8601 in UTC. */
export interface TokenRow {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** Empty: tasks of every type. */
  readonly types: readonly string[];
  readonly created_at: string;
  readonly created_by: string;
  /** null: never. */
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly revoked_by: string | null;
  /** To five minutes; null: never. */
  readonly used_at: string | null;
  readonly in_force: boolean;
}

/** A sender's key as it may be shown: without its secret. */
export interface SenderKeyRow {
  readonly id: string;
  readonly sender: string;
  readonly created_at: string;
  readonly created_by: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly revoked_by: string | null;
  readonly in_force: boolean;
}

export class AccessLedger {
  readonly #db: Database;

  constructor(database: Database) {
    this.#db = database;
  }

  tokenAdd(row: { id: string; name: string; hash: string; role: Role; types: readonly string[]; expires_in_ms?: number; by: string }): Promise<TokenRow> {
    return this.#db.call('token_add', [row]);
  }

  tokenRevoke(row: { token: string; by: string }): Promise<TokenRow> {
    return this.#db.call('token_revoke', [row]);
  }

  tokenUse(hash: string): Promise<TokenRow | null> {
    return this.#db.call('token_use', [hash]);
  }

  tokens(): Promise<readonly TokenRow[]> {
    return this.#db.call('token_list', []);
  }

  senderKeyAdd(row: { id: string; sender: string; secret: string; expires_in_ms?: number; by: string }): Promise<SenderKeyRow> {
    return this.#db.call('sender_key_add', [row]);
  }

  senderKeyRevoke(id: string, row: { by: string }): Promise<SenderKeyRow> {
    return this.#db.call('sender_key_revoke', [id, row]);
  }

  senderSecrets(sender: string): Promise<{ now: string; secrets: readonly string[] }> {
    return this.#db.call('sender_secrets', [sender]);
  }

  senderKeys(sender: string | null): Promise<readonly SenderKeyRow[]> {
    return this.#db.call('sender_key_list', [sender]);
  }
}
