/** Who may do what through the API. One table, tested over every combination. */
export const ROLES = ['caller', 'reviewer', 'operator', 'platform', 'reader', 'admin'] as const;
export type Role = (typeof ROLES)[number];

const READERS = ['caller', 'reviewer', 'operator', 'reader', 'admin'] as const satisfies readonly Role[];
const OPERATORS = ['operator', 'admin'] as const satisfies readonly Role[];
const CALLERS = ['caller', 'operator', 'admin'] as const satisfies readonly Role[];

/** What a route asks for, and the roles that may. Whoever sees one task's rows sees all of them. */
export const PERMISSIONS = {
  read: READERS,
  enqueue: ['caller', 'admin'],
  cancel: CALLERS,
  withdraw: CALLERS,
  abandon_wait: OPERATORS,
  decide: ['reviewer', 'admin'],
  deliver_receipt: ['platform', 'admin'],
  rematch_receipt: OPERATORS,
  replay: OPERATORS,
  confirm: OPERATORS,
  correct: OPERATORS,
  unpark: OPERATORS,
  bulk: OPERATORS,
  audit: ['operator', 'reader', 'admin'],
  metrics: ['operator', 'reader', 'admin'],
} as const satisfies Readonly<Record<string, readonly Role[]>>;

export type Permission = keyof typeof PERMISSIONS;

export const mayDo = (role: Role, permission: Permission): boolean => (PERMISSIONS[permission] as readonly Role[]).includes(role);
