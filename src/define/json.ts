/** What the ledger can store: JSON without NUL characters and non-finite numbers. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };
