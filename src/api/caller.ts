/** Who calls: a token in force, its role and the types that it is for. Refusals are recorded. */
import type { FastifyRequest } from 'fastify';
import type { TokenRow } from '../client/access.ts';
import type { ThroughlineClient } from '../client/client.ts';
import { ThroughlineError } from '../errors.ts';
import { LIMITS, mayDo } from '../state/index.ts';
import type { Permission } from '../state/index.ts';

const BEARER = /^Bearer +([^\s]{1,200})$/i;

export class Caller {
  readonly token: Pick<TokenRow, 'id' | 'name' | 'role' | 'types'>;
  readonly #client: Pick<ThroughlineClient, 'get'>;

  constructor(token: Caller['token'], client: Pick<ThroughlineClient, 'get'>) {
    this.token = token;
    this.#client = client;
  }

  /** Who acts, as every timeline says it: the token, and for whom it says to act. */
  by(onBehalfOf?: string): string {
    const name = `token:${this.token.name}`;
    return onBehalfOf === undefined ? name : `${name}/${onBehalfOf}`;
  }

  /** Throws ROLE_FORBIDDEN. */
  may(permission: Permission): void {
    const { role } = this.token;
    if (!mayDo(role, permission)) throw new ThroughlineError('ROLE_FORBIDDEN', { facts: { role, needs: permission } });
  }

  /** Throws TYPE_FORBIDDEN. */
  mayType(type: string): void {
    const { types } = this.token;
    if (types.length > 0 && !types.includes(type)) throw new ThroughlineError('TYPE_FORBIDDEN', { facts: { type } });
  }

  /** For what belongs to no type, or to any. Throws TYPE_FORBIDDEN. */
  mayAllTypes(): void {
    const { types } = this.token;
    if (types.length > 0) throw new ThroughlineError('TYPE_FORBIDDEN', { message: 'This token is for some types only: name a task or type of them.', facts: { types: [...types] } });
  }

  /** For what is of one type, or, without it, of any. Throws TYPE_FORBIDDEN. */
  mayAsMuchAs(type: string | undefined): void {
    if (type === undefined) this.mayAllTypes();
    else this.mayType(type);
  }

  /** Throws TYPE_FORBIDDEN, TASK_UNKNOWN, ID_INVALID. */
  async mayTask(task: string): Promise<void> {
    if (this.token.types.length > 0) this.mayType((await this.#client.get(task)).type);
  }

  /** The types that lists may show; undefined: all. Throws TYPE_FORBIDDEN. */
  typesFor(type: string | undefined): readonly string[] | undefined {
    if (type !== undefined) {
      this.mayType(type);
      return [type];
    }
    return this.token.types.length === 0 ? undefined : this.token.types;
  }
}

/** The text of the token that a request carries. Throws TOKEN_REQUIRED. */
export function bearerOf(request: FastifyRequest): string {
  const [, token] = BEARER.exec(request.headers.authorization ?? '') ?? [];
  if (token === undefined) throw new ThroughlineError('TOKEN_REQUIRED');
  return token;
}

/** Bounds what is written as the one acted for, so that it and the token fit. */
export const BEHALF_CHARS_MAX = LIMITS.actor_chars_max - 'token:'.length - 64;
