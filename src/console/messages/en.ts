/** Every word of the pages that is the console's own; sentences about tasks are `explain`'s. */
import type { ReceiptVerdict } from '../../state/index.ts';
import { ERRORS } from '../../errors.ts';
import type { ErrorCode } from '../../errors.ts';

const RECEIPT_VERDICTS: Readonly<Record<ReceiptVerdict, string>> = {
  matched: 'matched', evidence: 'evidence', early: 'early', late_after_timeout: 'late', duplicate: 'duplicate', text_only: 'text only', after_cancel: 'after the cancel', after_end: 'after the end', wrong_thread: 'wrong thread',
  wrong_message: 'wrong message', wrong_step: 'wrong step', wrong_external_id: 'wrong external id', contradicts: 'contradicts', unknown_task: 'unknown task', sender_not_allowed: 'sender not allowed',
};

export const EN = {
  language: 'English',
  brand: 'Throughline',
  skip: 'Skip to the content',
  nav: { label: 'Pages', overview: 'Overview', tasks: 'Tasks' },
  account: { label: 'Account', language: 'Language', sign_out: 'Sign out', role: 'role' },
  roles: { caller: 'caller', reviewer: 'reviewer', operator: 'operator', platform: 'platform', reader: 'reader', admin: 'admin' },
  as_of: 'As of',
  utc: 'UTC',
  none: 'none',
  now: 'now',
  yes: 'yes',
  no: 'no',
  unknown: 'unknown',
  sign_in: {
    title: 'Sign in',
    lead: 'Where is it now, will it run again, did the cancel take effect, what touched the outside, and is “succeeded” really true?',
    token: 'API token',
    hint: 'Made by “throughline tokens create NAME --role ROLE”. It is kept sealed in this browser for 12 hours, and no script can read it.',
    submit: 'Sign in',
    refused: 'This token is not known, has expired or was revoked.',
    role: 'The role of this token may not read tasks.',
    again: 'Going on to the page',
  },
  problem: { title: 'That did not work', at: 'Where', limit: 'Limit', request: 'Request', back: 'To all tasks', sign_in: 'Sign in again' },
  tasks: {
    title: 'Tasks',
    filter: 'Filter',
    state: 'State', any_state: 'any state', type: 'Type', any_type: 'any type', reason: 'Reason', any_reason: 'any reason',
    from: 'Accepted from', to: 'until', zone: 'times are UTC',
    text: 'Id, key or subject', text_hint: 'its beginning',
    apply: 'Show', clear: 'Clear',
    task: 'Task', state_column: 'State', reason_column: 'Reason', step: 'Step', next: 'Next', since: 'Since', accepted: 'Accepted',
    no_key: 'no key', nothing: 'No task fits this filter.', none_yet: 'There is no task yet.',
    older: 'Older', newest: 'Newest', shown: (n: number): string => `${String(n)} shown`,
  },
  receipt_verdicts: RECEIPT_VERDICTS,
  /** A refusal in words; where the refusal itself says more, that is shown. */
  errors: Object.fromEntries(Object.entries(ERRORS).map(([code, { sentence }]) => [code, sentence])) as Readonly<Record<ErrorCode, string>>,
};

export type Messages = typeof EN;
