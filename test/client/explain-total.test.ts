/** Whatever a row holds, the explanation says something, and never the wrong thing. */
import { describe, expect, test } from '@jest/globals';
import { CATEGORIES, isSuccess, isTerminal, PARENT_STATUSES, REASON_CODES, RECEIPT_KINDS, RECEIPT_VERDICTS, REASONS, STAGES, STATE_MEANINGS, STEP_STATES, PARENT_RULES } from '../../src/state/index.ts';
import type { Category, CancelVerdict, ReasonCode, ReceiptVerdict, RestState } from '../../src/state/index.ts';
import type { TaskRecord } from '../../src/ledger/index.ts';
import { explain, explanationText, type Explanation, type ExplainLanguage } from '../../src/client/explain/index.ts';
import { ACTION_CODES, CHECK_CODES, DRIVER_CODES, OUTCOME_CODES, PROOF_CODES, RUN_CODES, TEMPORAL_CODES, WAIT_CODES } from '../../src/client/explain/codes.ts';
import { PHRASES } from '../../src/client/explain/reading.ts';
import { LABELS } from '../../src/client/explain/labels.ts';
import { Life, PUBLISH, RENDER, REVIEW } from './explain-life.ts';

const HAN = /\p{Script=Han}/u;
const LANGUAGES = ['en', 'zh-CN'] as const satisfies readonly ExplainLanguage[];
const REST_STATES = STEP_STATES.filter((state): state is RestState => state !== 'failed');
const VERDICTS: readonly CancelVerdict[] = ['pending', 'prevented', 'stopped_at_boundary', 'too_late', 'withdrawn', 'needs_person', 'already_terminal'];

/** Every text in a value, with the path to it. */
function texts(value: unknown, path = ''): [path: string, text: string][] {
  if (typeof value === 'string') return [[path, value]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => texts(item, `${path}/${key}`));
}

const SAID = /(sentence|headline|meaning|label)$/;
/** Nothing said; something that is no word; a clause without words between two separators. */
const UNREADABLE = /^\s*$|undefined|NaN|\[object|null|Invalid|; ;|；；|: ;|；。|;\.|: ?$|\(\)|（）/;
/** What is said and can't be read. */
const unreadable = (e: Explanation): [string, string][] => texts(e).filter(([path, text]) => SAID.test(path) && UNREADABLE.test(text));

/** A task whose last step has been put into a state for a reason, with what the ledger's checks require of such a row. */
function put(steps: ConstructorParameters<typeof Life>[0], state: RestState, reason: ReasonCode, cancel: boolean, charged: number): TaskRecord {
  const life = new Life(steps);
  const name = life.steps.at(-1)?.name ?? '';
  for (const { name: before } of life.steps.slice(0, -1)) life.succeed(before);
  const row = life.row(name);
  const held = state === 'leased' || state === 'cancel_requested';
  if (isSuccess(state)) life.check(name, true);
  life.pass(1).enter(name, state, reason, {
    row: {
      attempt: charged, charged, epoch: charged, cancel_id: cancel ? 'cancel-1' : null, holder: held ? 'host/1' : null, lease_expires_at: held ? life.at(9) : null,
      next_check_at: state === 'completed' || state === 'unconfirmed' ? life.at(5) : null, receipt_due_at: row.has_receipt && ['submitted', 'received', 'in_progress'].includes(state) ? life.at(60) : null,
      error: charged > 0 ? { category: 'timeout', stage: 'send', name: 'E', message: 'slow' } : null,
    },
  });
  return life.record();
}

describe('phrases', () => {
  test('both languages have the same codes, and no empty phrase', () => {
    const paths = LANGUAGES.map((lang) => shape(PHRASES[lang]).sort());
    expect(paths[0]).toEqual(paths[1]);
    for (const lang of LANGUAGES) expect([...texts(PHRASES[lang]), ...texts(LABELS[lang])].filter(([, text]) => text.trim() === '')).toEqual([]);
  });

  test.each([
    ['states', STEP_STATES, 'states'],
    ['statuses of a task', PARENT_STATUSES, 'statuses'],
    ['stages', STAGES, 'stages'],
    ['kinds of receipts', RECEIPT_KINDS, 'receipt_kinds'],
    ['kinds of a review', RECEIPT_KINDS, 'review_kinds'],
    ['verdicts of cancels', VERDICTS, 'verdicts'],
    ['waits', WAIT_CODES, 'waits'],
    ['runs', RUN_CODES, 'runs'],
    ['actions', ACTION_CODES, 'actions'],
    ['drivers', DRIVER_CODES, 'drivers'],
    ['Temporal', TEMPORAL_CODES, 'temporal'],
    ['outcomes', OUTCOME_CODES, 'outcomes'],
    ['proofs', PROOF_CODES, 'proofs'],
    ['checks', CHECK_CODES, 'checks'],
  ] as const)('every code of %s has one', (_what, codes, group) => {
    for (const lang of LANGUAGES) expect(Object.keys(PHRASES[lang][group]).sort()).toEqual([...codes].sort());
  });

  test('every state, reason, category, verdict and status has its meaning in both languages', () => {
    const meanings = [STATE_MEANINGS, REASONS, CATEGORIES, RECEIPT_VERDICTS].flatMap((table: Readonly<Record<string, { readonly en: string; readonly zh: string }>>) => Object.values(table));
    for (const { en, zh } of [...meanings, ...PARENT_RULES]) {
      expect(en).toMatch(/[a-z]/);
      expect(zh).toMatch(HAN);
    }
  });

  function shape(value: unknown, path = ''): string[] {
    if (typeof value !== 'object' || value === null) return [`${path}:${typeof value}`];
    return Object.entries(value).flatMap(([key, item]) => shape(item, `${path}/${key}`));
  }
});

describe('every state, for every reason', () => {
  const kinds = [['a step with a receipt', [RENDER, PUBLISH], [0, 3]], ['a step of its own', [{ name: 'only' }], [3]], ['a review', [RENDER, REVIEW], [1]]] as const;
  for (const [kind, steps, charges] of kinds) {
    test.each(REST_STATES)(`${kind} that is %s is explained in both languages, without contradiction`, (state) => {
      for (const reason of REASON_CODES) {
        for (const cancel of [false, true]) {
          for (const charged of charges) {
            // What Postgres refuses needs no words.
            if (cancel && (state === 'queued' || state === 'leased')) continue;
            const record = put(steps, state, reason, cancel, charged);
            const [en, zh] = LANGUAGES.map((lang) => explain(record, { lang })) as [Explanation, Explanation];
            const faults: unknown[] = [...unreadable(en), ...unreadable(zh), ...(HAN.test(zh.headline) && !HAN.test(en.headline) ? [] : [en.headline, zh.headline])];
            if (codesOf(en) !== codesOf(zh)) faults.push('the languages differ in more than words');
            faults.push(...untrue(en, state, cancel));
            if (faults.length > 0) throw new Error(JSON.stringify([reason, cancel, charged, faults]));
          }
        }
      }
    });
  }

  /** What the languages must agree on. */
  const codesOf = (e: Explanation): string => JSON.stringify(e, (key, value: unknown) => (SAID.test(key) || key === 'lang' || key === 'corrected' ? undefined : value));

  /** What the explanation says against the row. */
  function untrue(e: Explanation, state: RestState, cancel: boolean): string[] {
    const step = e.steps.at(-1);
    const codes = [e.next_action, ...e.also].map(({ code }) => code);
    const promises: Readonly<Record<string, boolean>> = {
      'green is for succeeded alone': (e.tone === 'success') === (e.status === 'succeeded') && (step?.tone === 'success') === isSuccess(state),
      'success is what succeeded': e.success === (e.status === 'succeeded'),
      'what is terminal does not run again': !(isTerminal(state) && step?.will_run_again.answer === 'yes'),
      'what is at rest does not run again': !(e.at_rest && e.will_run_again.answer === 'yes'),
      'what is cancelled does not run again': !(cancel && step?.will_run_again.answer === 'yes'),
      'a cancel is not replayed': !(cancel && codes.some((code) => code.startsWith('replay') || code === 'decision')),
      'what ended well waits for nothing': (e.blocked_on === null) === (e.status === 'succeeded' || e.status === 'cancelled'),
      'only what is at rest was ended by somebody': e.ended_by === null || e.at_rest,
      'success ends what succeeded': step?.ended_by !== 'success' || isSuccess(state),
      'each step has its sentence': e.steps_sentence.includes(`${step?.name ?? '?'}: `),
    };
    return Object.keys(promises).filter((promise) => promises[promise] !== true);
  }
});

describe('explain', () => {
  test('changes nothing that it is given, and says the same each time', () => {
    const freeze = <T>(value: T): T => {
      if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(freeze);
      return value;
    };
    const record = freeze(put([RENDER, PUBLISH], 'unconfirmed', 'answer_lost', true, 1));
    expect(explain(record, { lang: 'en' })).toEqual(explain(record, { lang: 'en' }));
  });

  test('is plain JSON', () => {
    for (const state of REST_STATES) {
      const e = explain(put([RENDER, PUBLISH], state, 'manual_correction', false, 1), { lang: 'en' });
      expect(JSON.parse(JSON.stringify(e))).toEqual(e);
    }
  });

  test('words every verdict of a cancel, beside every state', () => {
    for (const state of REST_STATES) {
      for (const verdict of VERDICTS) {
        for (const verb of ['cancel', 'withdraw', 'abandon_wait'] as const) {
          const life = new Life([RENDER, PUBLISH]).succeed('render').claim('publish');
          life.cancel('publish', verdict, verdict === 'already_terminal' ? null : 'cancelled_at_boundary', { verb }).enter('publish', state, 'manual_correction');
          for (const lang of LANGUAGES) {
            const e = explain(life.record(), { lang });
            expect(unreadable(e)).toEqual([]);
            expect(e.cancels[0]).toMatchObject({ verdict, pending: verdict === 'pending' });
            expect(explanationText(e)).not.toContain('undefined');
          }
        }
      }
    }
  });

  test('words every verdict of a receipt and every category', () => {
    for (const verdict of Object.keys(RECEIPT_VERDICTS) as ReceiptVerdict[]) {
      for (const kind of RECEIPT_KINDS) {
        const record = new Life([RENDER, PUBLISH]).receipt('publish', kind, verdict).record();
        for (const lang of LANGUAGES) expect(unreadable(explain(record, { lang }))).toEqual([]);
      }
    }
    for (const category of Object.keys(CATEGORIES) as Category[]) {
      for (const stage of STAGES) {
        const life = new Life().claim('render').fail('render', 'dead', 'not_retryable', { category, stage, name: 'E', message: '' });
        for (const lang of LANGUAGES) {
          const e = explain(life.record(), { lang });
          expect(unreadable(e)).toEqual([]);
          expect(e.steps[0]?.last_failure).toMatchObject({ category, stage });
        }
      }
    }
  });
});
