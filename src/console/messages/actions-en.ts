/** The words around what a person may do; what it does is said by `explain`. */
import type { ActionName, Variant } from '../actions/spec.ts';

const NAMES: Readonly<Record<ActionName, { readonly title: string; readonly lead: string }>> = {
  cancel: { title: 'Cancel', lead: "Don't do what isn't done yet. It is answered at once; what is in flight is not broken off, and what was submitted already may be too late to stop." },
  withdraw: { title: 'Withdraw', lead: 'Ask the other side to take back what was submitted. It is asked once; an answer that is lost is never asked again on a guess.' },
  'abandon-wait': { title: 'Abandon the wait', lead: 'Stop waiting for the other side. Nothing is taken back and nothing is sent again; it may still happen there. From then on it needs a person.' },
  decide: { title: 'Review', lead: 'Approve it, and the task goes on; reject it, and nothing that needs this step runs. The verdict is recorded with who and why, and stands.' },
  replay: { title: 'Replay', lead: 'Run what is dead again, with a fresh budget and the original input. What is confirmed outside is not repeated.' },
  confirm: { title: 'Confirm what is outside', lead: 'For what only somebody who looked can know: it is there, or it is not. Say where you looked and what you saw; it is recorded as evidence.' },
  correct: { title: 'Correct an entry', lead: 'The timeline is never changed: a further entry says that this one is wrong, and both are shown from then on. Nothing moves.' },
  unpark: { title: 'Un-park the wake-up', lead: 'Temporal refused the wake-up of this task again and again. When the cause is mended, this sends it again with a fresh budget.' },
  rematch: { title: 'Re-match a receipt', lead: 'Say whom a receipt is for whose address was wrong. It is judged again by all rules, and may be refused again.' },
};

const BUTTONS: Readonly<Record<Variant, string>> = {
  cancel: 'Cancel it', withdraw: 'Withdraw it', abandon: 'Abandon the wait', approved: 'Approve', rejected: 'Reject', replay: 'Replay it', present: 'It is there', absent: 'It is not there', correct: 'Append the correction',
  unpark: 'Send it again', rematch: 'Re-match it',
};

export const ACTIONS_EN = {
  names: NAMES,
  buttons: BUTTONS,
  title: 'What you may do', nothing: 'Nothing is left to do here for your role.', whole: 'the whole task', of: (step: string): string => `: ${step}`,
  review: 'Open the review', back: 'Back to the task', now: 'Now', would: 'What it would do now', would_of: (button: string): string => `“${button}” would do this now`,
  would_be_refused: 'It would be refused now', refused: 'It was refused', nothing_moves: 'No step moves.', again: 'Show what it would do with these fields',
  changed: 'What it would do is not what was shown before: nothing has been done yet. Look at it again, then confirm.',
  done: 'Done', nothing_changed: 'Nothing was changed: it was said before, or there was nothing to do.', written: 'It is written in the timeline:', what_follows: 'What follows',
  who: 'On behalf of', who_hint: (name: string): string => `Recorded after the token's own name: ${name}`, why: 'Why', why_hint: 'Recorded in the timeline, for whoever asks later.',
  id: 'Id of this action',
  fields: {
    step: 'Step', effect: 'What was asked outside', evidence: 'Evidence: where you looked, and what was there', externalId: 'Its id there, if it has one', result: 'What the call would have returned, if later steps read it (JSON)',
    entry: 'Entry', reason: 'The reason that it should have had', receipt: 'Receipt', message: 'The message that it answers', void: 'Make again, as if it had never lasted', drop: 'Forget the checkpoints of the step',
  },
  any_message: "the submission's last request before it came", no_reason: 'only that it is wrong', each_step: 'each step that can',
  to_read: 'What there is to read', nothing_to_read: 'Nothing is stored to read.', correct: 'Correct', rematch: 'Re-match',
  receipts: { title: 'Receipts that match nothing', nav: 'Receipts', lead: 'Stored and refused by their address, or not judged yet, newest first.', none: 'Every receipt has found its task.', of: 'for', nobody: 'no such task', choose: 'Task id', go: 'Re-match', deliveries: 'Delivery', came: 'Came', verdict: 'Verdict' },
  bulks: {
    title: 'Bulk', nav: 'Bulk', lead: 'Replays and cancels of many: a dry run first, then applied by name, at a rate.', none: 'There is none yet. Select tasks in the list to make one.',
    select: (key: string): string => `Select ${key}`, select_all: 'Select all on this page', with_selected: 'With the selected', with_all: 'With all that fit the filter', dry: { replay: 'Dry run of a replay…', cancel: 'Dry run of a cancel…' },
    kinds: { replay: 'Replay', cancel: 'Cancel' }, new_title: { replay: 'Dry run of a replay', cancel: 'Dry run of a cancel' },
    new_lead: 'Freezes what it is about and says what each would meet. Nothing else changes until it is applied.', selection: 'What it is about', chosen: (n: number): string => (n === 1 ? '1 task chosen' : `${String(n)} tasks chosen`), filter: 'all that fit',
    rate: 'Items in a second', make: 'Make the dry run', nothing_chosen: 'Choose tasks in the list first, or filter it.',
    status: { planned: 'dry run', running: 'running', done: 'done', aborted: 'aborted' }, planned_note: 'Nothing has changed yet.', apply: 'Apply it', abort: 'Abort it', abort_why: 'Why it is aborted',
    would: 'What would happen', items: 'Items', item: 'Item', found: 'Found', result: 'Result', result_pending: 'pending', result_done: 'done', result_refused: 'refused', result_skipped: 'left as it was: it was aborted',
    would_be: (to: string): string => `would be ${to}`, would_be_refused: (sentence: string): string => `would be refused: ${sentence}`, counts: (n: number): string => (n === 1 ? '1 item' : `${n.toLocaleString('en')} items`),
    progress: (done: number, all: number): string => `${done.toLocaleString('en')} of ${all.toLocaleString('en')} have a result`, applied_by: 'Applied by', aborted_by: 'Aborted by', more: 'More items', made: 'Made', rate_of: (rate: string): string => `${rate} a second`,
  },
};

export type ActionMessages = typeof ACTIONS_EN;
