/** Resolving the unconfirmed, acceptance, and what persons decide. */
import type { Shape } from '../../support/factories.ts';
import type { Tale } from '../../support/tale.ts';
import { REVIEW } from './outside.ts';
import { reviewing, storeVerdict, twoOpen, waiting, type Scenarios } from './scenario.ts';

const BOTH: Shape = { effects: 'picture+post' };
const pictureOpen = async (tale: Tale): Promise<unknown> => (await (await tale.claim()).intend('picture')).settle('lost');
const unconfirmed = (tale: Tale): Promise<void> => waiting(tale, 'unconfirmed');
const overdue = async (tale: Tale): Promise<unknown> => (await waiting(tale, 'submitted'), tale.overdue());
const present = (tale: Tale): Promise<unknown> => tale.probe('present');
const confirmPastDoor = (tale: Tale): Promise<unknown> =>
  tale.ledger.query("select throughline._confirm_effect(id, 'x', null, throughline.now()) from throughline.effect where task_id = $1 and live and submits", [tale.task]);

function presences(s: Scenarios): void {
  s.add('present.open', 'unconfirmed', BOTH, twoOpen, present);
  s.add('present.done', 'unconfirmed', {}, unconfirmed, (tale) => tale.probe('completed'));
  s.add('present.synchronous', 'unconfirmed', { receipt: false }, unconfirmed, present);
  s.add('present.found', 'unconfirmed', {}, unconfirmed, present);
  s.add('present.again', 'unconfirmed', {}, overdue, present);
  s.add('present.exhausted', 'unconfirmed', { checks: 1 }, overdue, present);
  const request = (tale: Tale): Promise<void> => reviewing(tale, 'unconfirmed');
  const cancelled = async (tale: Tale): Promise<unknown> => (await request(tale), tale.cancel());
  const verdict = async (tale: Tale): Promise<unknown> => (await cancelled(tale), storeVerdict(tale));
  const NEVER = 'with our own inbox nothing is unconfirmed once it stands confirmed';
  s.add('present.found.inbox', 'unconfirmed', REVIEW, request, present);
  s.add('present.found.verdict', 'unconfirmed', REVIEW, verdict, present, 'a stored verdict would have moved it');
  s.add('present.withdrawn', 'unconfirmed', REVIEW, cancelled, present);
  s.add('present.again.inbox', 'unconfirmed', REVIEW, async (tale) => (await request(tale), confirmPastDoor(tale)), present, NEVER);
  s.add('present.exhausted.inbox', 'unconfirmed', { ...REVIEW, checks: 1 }, async (tale) => (await request(tale), confirmPastDoor(tale)), present, NEVER);
  s.add('present.again.verdict', 'unconfirmed', REVIEW, async (tale) => (await verdict(tale), confirmPastDoor(tale)), present, NEVER);
  s.add('present.exhausted.verdict', 'unconfirmed', { ...REVIEW, checks: 1 }, async (tale) => (await verdict(tale), confirmPastDoor(tale)), present, NEVER);
  s.add('present.other', 'unconfirmed', BOTH, pictureOpen, present);
  s.add('present.other.cancel', 'unconfirmed', BOTH, async (tale) => (await pictureOpen(tale), tale.cancel()), present);
}

function absences(s: Scenarios): void {
  const once = (arrange: (tale: Tale) => Promise<unknown>) => async (tale: Tale): Promise<unknown> => (await arrange(tale), tale.probe('absent'));
  const again = (tale: Tale): Promise<unknown> => tale.probe('absent');
  s.add('absent.no_proof', 'unconfirmed', { absenceIsProof: false }, once(unconfirmed), again);
  s.add('absent.open', 'unconfirmed', BOTH, once(twoOpen), again);
  s.add('absent.cancel', 'unconfirmed', {}, once(async (tale) => (await unconfirmed(tale), tale.cancel())), again);
  s.add('absent.retry', 'unconfirmed', {}, once(unconfirmed), again);
  s.add('absent.exhausted', 'unconfirmed', { attempts: 1 }, once(unconfirmed), again);
  const unknown = (tale: Tale): Promise<unknown> => tale.probe('unknown');
  s.add('inconclusive', 'unconfirmed', {}, unconfirmed, unknown);
  s.add('inconclusive.resend', 'unconfirmed', { checks: 1 }, unconfirmed, unknown);
  s.add('inconclusive.exhausted', 'unconfirmed', { checks: 1, keyed: false }, unconfirmed, unknown);
  s.add('no_way_left', 'unconfirmed', { probe: false }, unconfirmed, async (tale) => {
    await tale.pass(3_600_000);
    await tale.look();
  });
}

function acceptances(s: Scenarios): void {
  const completed = async (tale: Tale): Promise<unknown> => {
    await (await (await tale.claim()).confirmed()).done();
    // Nothing that was just made is called missing before it had time to become visible.
    return tale.pass(60_000);
  };
  const DIRECT: Shape = { receipt: false };
  s.add('accept', 'completed', DIRECT, completed, (tale) => tale.accept());
  s.add('accept.again', 'completed', DIRECT, completed, (tale) => tale.accept(null));
  s.add('accept.unproven', 'completed', { ...DIRECT, checks: 1 }, completed, (tale) => tale.accept(null));
  s.add('accept.missing', 'completed', DIRECT, completed, (tale) => tale.accept(false));
  s.add('accept.not_ours', 'completed', DIRECT, completed, (tale) => tale.accept(true, false));
  s.add('accept.below', 'completed', DIRECT, completed, (tale) => tale.accept(true, true, false));
  const replay = (tale: Tale): Promise<unknown> => tale.replay();
  s.add('replay', 'dead', {}, async (tale) => (await tale.claim()).fail(false), replay);
  s.add('replay.submitted', 'dead', { probe: false }, overdue, replay);
  s.add('replay.completed', 'dead', DIRECT, async (tale) => (await completed(tale), tale.accept(false)), replay);
}

function persons(s: Scenarios): void {
  const dead = (arrange: (tale: Tale) => Promise<unknown>) => async (tale: Tale, from: string): Promise<void> => {
    await arrange(tale);
    if (from === 'dead') await tale.abandons();
  };
  const cancelled = (arrange: (tale: Tale) => Promise<unknown>) => dead(async (tale) => (await arrange(tale), tale.cancel()));
  const UNSURE = ['dead', 'unconfirmed'];
  s.add('person.present', UNSURE, {}, dead(unconfirmed), (tale) => tale.confirms(true));
  s.add('person.present.other', UNSURE, BOTH, dead(pictureOpen), (tale) => tale.confirms(true, 'picture'));
  s.add('person.present.cancel', UNSURE, BOTH, cancelled(pictureOpen), (tale) => tale.confirms(true, 'picture'));
  s.add('person.present.open', UNSURE, BOTH, dead(twoOpen), (tale) => tale.confirms(true, 'picture', 'a'));
  s.add('person.absent', UNSURE, {}, dead(unconfirmed), (tale) => tale.confirms(false));
  s.add('person.absent.cancel', UNSURE, {}, cancelled(unconfirmed), (tale) => tale.confirms(false));
  s.add('person.absent.open', UNSURE, BOTH, dead(twoOpen), (tale) => tale.confirms(false, 'picture', 'a'));
}

export function resolvingScenarios(s: Scenarios): void {
  presences(s);
  absences(s);
  acceptances(s);
  persons(s);
}
