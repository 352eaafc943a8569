/** Who may call the API, and which secrets platforms sign their receipts with. Throws ThroughlineError. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Duration } from '../define/types.ts';
import { ThroughlineError } from '../errors.ts';
import { AccessLedger, boundedText } from '../ledger/index.ts';
import type { Database, SenderKeyRow, TokenRow } from '../ledger/index.ts';
import { LIMITS, ROLES } from '../state/index.ts';
import type { Role } from '../state/index.ts';
import { checkedSecret, createSecret, verify } from '../webhooks/signature.ts';
import { checkedDelay, checkedUuid } from './checks.ts';

export interface TokenInput {
  /** Names who acts: `token:NAME` in every timeline. Lower case letters, digits, `.`, `_`, `-`; at most 63. */
  readonly name: string;
  readonly role: Role;
  /** Only tasks of these types. Default: every type. */
  readonly types?: readonly string[];
  /** Default: never. */
  readonly expiresIn?: Duration;
  readonly by?: string;
}

/** A token with its text: the only time that it is shown. */
export type TokenWithText = TokenRow & { readonly token: string };
export type SenderKeyWithSecret = SenderKeyRow & { readonly secret: string };

const PREFIX = 'tl_';
const TOKEN = /^tl_[A-Za-z0-9_-]{43}$/;
const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** 256 random bits need no slow digest: nobody can try them all. */
const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');

const expiry = (expiresIn: Duration | undefined): { readonly expires_in_ms?: number } => (expiresIn === undefined ? {} : { expires_in_ms: checkedDelay(expiresIn, '/expiresIn') });

export class Access {
  readonly #ledger: AccessLedger;
  readonly #by: string;

  constructor(database: Database, by: string) {
    this.#ledger = new AccessLedger(database);
    this.#by = by;
  }

  /** Makes a token. Keep the answer's `token`: it is not shown again. INPUT_INVALID, NAME_TAKEN, TIME_INVALID. */
  async createToken(input: TokenInput): Promise<TokenWithText> {
    const { name, role, types = [] } = input;
    if (typeof name !== 'string' || !NAME.test(name)) throw new ThroughlineError('INPUT_INVALID', { path: '/name', message: 'A name is 1 to 63 lower case letters, digits, ".", "_", "-", and begins with a letter or digit.' });
    if (!ROLES.includes(role)) throw new ThroughlineError('INPUT_INVALID', { path: '/role', message: `The role must be one of ${ROLES.join(', ')}.` });
    if (types.length > LIMITS.webhook_types_max) throw new ThroughlineError('INPUT_INVALID', { path: '/types', limit: LIMITS.webhook_types_max });
    for (const type of types) boundedText(type, '/types', LIMITS.name_chars_max);
    const token = `${PREFIX}${randomBytes(32).toString('base64url')}`;
    const row = await this.#ledger.tokenAdd({ id: randomUUID(), name, hash: hashOf(token), role, types: [...new Set(types)], ...expiry(input.expiresIn), by: this.#who(input.by) });
    return { ...row, token };
  }

  /** All of them, the oldest first; their texts are never shown. */
  tokens(): Promise<readonly TokenRow[]> {
    return this.#ledger.tokens();
  }

  /** Ends a token, by id or name, at once. TOKEN_UNKNOWN. */
  revokeToken(token: string, options: { readonly by?: string } = {}): Promise<TokenRow> {
    return this.#ledger.tokenRevoke({ token: boundedText(token, '/token', LIMITS.actor_chars_max), by: this.#who(options.by) });
  }

  /** Whose token it is. TOKEN_INVALID if it is not one that is in force. */
  async identify(token: string): Promise<TokenRow> {
    const row = TOKEN.test(token) ? await this.#ledger.tokenUse(hashOf(token)) : null;
    if (row === null) throw new ThroughlineError('TOKEN_INVALID');
    return row;
  }

  /** A key that this sender signs with from now on; those before stay in force until they are revoked. INPUT_INVALID. */
  async addSenderKey(input: { readonly sender: string; readonly secret?: string; readonly expiresIn?: Duration; readonly by?: string }): Promise<SenderKeyWithSecret> {
    const sender = boundedText(input.sender, '/sender', LIMITS.actor_chars_max);
    if (sender.startsWith('reviewer:')) throw new ThroughlineError('INPUT_INVALID', { path: '/sender', message: 'Verdicts of reviewers come through `decide`.' });
    const secret = input.secret === undefined ? createSecret() : checkedSecret(input.secret);
    const row = await this.#ledger.senderKeyAdd({ id: randomUUID(), sender, secret, ...expiry(input.expiresIn), by: this.#who(input.by) });
    return { ...row, secret };
  }

  senderKeys(sender: string | null = null): Promise<readonly SenderKeyRow[]> {
    return this.#ledger.senderKeys(sender);
  }

  /** Ends a key at once and forgets its secret. SENDER_KEY_UNKNOWN. */
  revokeSenderKey(id: string, options: { readonly by?: string } = {}): Promise<SenderKeyRow> {
    return this.#ledger.senderKeyRevoke(checkedUuid(id, '/key'), { by: this.#who(options.by) });
  }

  /** Checks that this sender signed the message lately; answers with its `webhook-id`. SIGNATURE_INVALID. */
  async verifySender(sender: string, headers: IncomingHttpHeaders, body: Buffer | string): Promise<string> {
    const { now, secrets } = await this.#ledger.senderSecrets(sender);
    return verify({ headers, body, secrets, now: new Date(now) }).id;
  }

  #who(by: string | undefined): string {
    return boundedText(by ?? this.#by, '/by', LIMITS.actor_chars_max);
  }
}

export type { SenderKeyRow, TokenRow };
