import type { Action } from '../client/client.ts';
import type { Context } from './context.ts';

/** What `actionOptions` read, and the step. */
export interface ActionOptions {
  readonly why?: string;
  readonly by?: string;
  readonly id?: string;
  readonly step?: string;
}

/** Who acts and why, as the client takes it; it refuses a missing reason. */
export function action(context: Context, { why, by, id, step }: ActionOptions): Action & { readonly by: string } {
  return { by: by ?? context.user, why: why ?? '', ...(id === undefined ? {} : { id }), ...(step === undefined ? {} : { step }) };
}
