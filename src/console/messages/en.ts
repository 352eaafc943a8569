/** Every word of the pages that is the console's own; sentences about tasks are `explain`'s. */
import type { ReceiptVerdict } from '../../state/index.ts';
import { ERRORS } from '../../errors.ts';
import type { ErrorCode } from '../../errors.ts';
import { ACTIONS_EN } from './actions-en.ts';

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
  overview: {
    title: 'Overview', counts: 'Tasks by type and state', counts_note: 'Open and dead ones now; succeeded and cancelled in the last 24 hours.', truncated: 'There are more than are counted here.',
    ages: 'What waits, and how long', nothing_waits: 'Nothing is queued, unconfirmed or dead.', oldest: 'oldest', steps: (n: number): string => (n === 1 ? '1 step' : `${String(n)} steps`),
    overdue: (cancels: number, receipts: number): string => `Overdue: ${String(cancels)} verdicts of cancels, ${String(receipts)} receipts.`,
    attempts: 'Attempts begun', rescues: 'Leases that ran out', day: 'The last 24 hours, by half hours, UTC', counted_from: (at: string): string => `Counted from ${at} UTC: there is more than is looked at here`, in_all: (n: number): string => `${String(n)} in all`,
    health: {
      title: 'Health', ledger: { up: 'up', down: 'cannot be reached', outdated: 'schema is older than this program', newer: 'schema is newer than this program' }, temporal: { up: 'up', down: 'cannot be reached', not_configured: 'not asked here' },
      workers: 'Workers', seen: (n: number): string => (n === 0 ? 'none is seen' : `${String(n)} seen`), skew: (by: string): string => `a clock is off by ${by}`,
      leases: (held: number, expired: number): string => `${String(held)} leases held${expired > 0 ? `, ${String(expired)} run out` : ''}`,
      outbox: 'Outbox', empty: 'nothing waits', waiting: (n: number, lag: string): string => `${String(n)} wait, the oldest ${lag}`, parked: (n: number): string => `${String(n)} parked: they need a person`,
    },
  },
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
  task: {
    again: 'Will it run again?', answers: { yes: 'yes', no: 'no', depends: 'it depends', only_by_a_person: 'only by a person' },
    todo: 'What to do', why: 'Why', driver: 'Who moves it', since: 'since', corrected: 'Corrected',
    id: 'Id', key: 'Key', type: 'Type', accepted: 'Accepted', deadline: 'Deadline', ended: 'Ended', by: 'by',
    temporal: "Open the workflow in Temporal's UI",
    blocked: 'Waits on',
    steps: 'Steps', attempts: 'Attempts', next: 'Next', holder: 'Held by', failure: 'Last failure', decision: 'Decision', needs: 'Needs', open: 'Open outside', review: 'review',
    lane: (states: string): string => `Its states in time: ${states}`,
    story: 'Timeline', facts: 'Facts', attempt: (n: number): string => `attempt ${String(n)}`, manual: 'by hand, past the door',
    entry: 'entry', event: 'event', rule: 'rule', edge: 'edge', reason: 'reason', epoch: 'epoch', cut: (n: number): string => `${String(n)} more characters are left out here`,
    left_out: (n: number): string => `${String(n)} entries in between are left out here; the history has them all.`,
    touches: 'What touched the outside', no_touches: 'Nothing was asked of the outside.', message: 'message', generation: 'generation', late: 'late', submits: 'the submission',
    receipts: 'Receipts', matched: 'They count', refused: 'They moved nothing', no_receipts: 'No receipt has come.', from: 'from', deliveries: (n: number): string => `delivered ${String(n)} times`,
    proof: 'Artifacts and proof', no_proof: 'Nothing is stored, nothing is checked yet.', found: 'exists', ours: 'belongs to this task', minimum: 'meets the minimum', read: 'What was read',
    bytes: 'bytes', preview: 'Preview', download: 'Download', preview_of: (name: string): string => `Preview of ${name}`,
    cancels: 'Cancels', found_state: 'found', next_check: 'next check', deadline_at: 'verdict until',
    links: 'Replays and links', again_of: 'Repeats the task', again_as: 'Repeated by the task', no_links: 'It was not replayed, and no other task repeats it.',
    machine: 'State machine', machine_of: (step: string): string => `The states of ${step}, with the path taken`, path: (states: string): string => `Path taken: ${states}`,
    live: 'live',
  },
  receipt_verdicts: RECEIPT_VERDICTS,
  actions: ACTIONS_EN,
  /** A refusal in words; where the refusal itself says more, that is shown. */
  errors: Object.fromEntries(Object.entries(ERRORS).map(([code, { sentence }]) => [code, sentence])) as Readonly<Record<ErrorCode, string>>,
};

export type Messages = typeof EN;
