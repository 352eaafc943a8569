import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { ERRORS } from '../../src/errors.ts';
import {
  AUDIT_CHECKS, CATEGORIES, EVENTS, NOTIFY_EVENT_NAMES, PARENT_STATUSES, REASONS, RECEIPT_KINDS, RECEIPT_VERDICTS, RULES, STAGES, STATE_MEANINGS, STEP_STATES,
  type CancelVerdict, type Reason, type ReasonCode,
} from '../../src/state/index.ts';

/** The compiler keeps this list complete. */
const CANCEL_VERDICTS: Readonly<Record<CancelVerdict, true>> = {
  pending: true, prevented: true, stopped_at_boundary: true, too_late: true, withdrawn: true, needs_person: true, already_terminal: true,
};

const PRESENT: Readonly<Record<string, readonly string[]>> = {
  reasons: Object.keys(REASONS),
  categories: Object.keys(CATEGORIES),
  cancel_verdicts: Object.keys(CANCEL_VERDICTS),
  receipt_verdicts: Object.keys(RECEIPT_VERDICTS),
  receipt_kinds: RECEIPT_KINDS,
  step_states: STEP_STATES,
  parent_statuses: PARENT_STATUSES,
  stages: STAGES,
  events: Object.keys(EVENTS),
  errors: Object.keys(ERRORS),
  notify_events: NOTIFY_EVENT_NAMES,
  audit_checks: Object.keys(AUDIT_CHECKS),
};
const STORED = JSON.parse(readFileSync(new URL('./codes.json', import.meta.url), 'utf8')) as Readonly<Record<string, readonly string[]>>;

describe('codes only ever get added', () => {
  test.each(Object.keys(PRESENT))('%s: none that was ever given out is gone', (list) => {
    expect((STORED[list] ?? []).filter((code) => !PRESENT[list]?.includes(code))).toEqual([]);
  });

  test.each(Object.keys(PRESENT))('%s: each is on the stored list (add a new one to test/state/codes.json)', (list) => {
    expect((PRESENT[list] ?? []).filter((code) => !STORED[list]?.includes(code))).toEqual([]);
  });

  test('no list is forgotten, and codes are lower case words (errors: upper case; of notifications: a subject and what befell it)', () => {
    expect(Object.keys(STORED).sort()).toEqual(Object.keys(PRESENT).sort());
    for (const [list, codes] of Object.entries(PRESENT)) {
      for (const code of codes) expect(code).toMatch(list === 'errors' ? /^[A-Z]+(_[A-Z]+)*$/ : list === 'notify_events' ? /^[a-z]+\.[a-z]+$/ : /^[a-z]+(_[a-z]+)*$/);
    }
  });
});

describe('reasons', () => {
  /** Written by other means than a rule of the machine. */
  const SPECIAL: readonly ReasonCode[] = ['manual_correction'];

  test('each is used by a rule or is special', () => {
    const used = new Set<ReasonCode>(RULES.flatMap(({ reasons }) => reasons));
    expect((Object.keys(REASONS) as ReasonCode[]).filter((code) => !used.has(code))).toEqual(SPECIAL);
  });

  test('a reason with which a step only goes on does not say that somebody ended it', () => {
    for (const [code, reason] of Object.entries(REASONS) as [ReasonCode, Reason][]) {
      const ends = RULES.some((rule) => rule.reasons.at(-1) === code && (rule.to === 'dead' || rule.to === 'cancelled' || rule.to === 'succeeded'));
      if (!ends && !SPECIAL.includes(code)) expect([code, reason.ended_by]).toEqual([code, undefined]);
    }
  });

  test('every code has its own sentence in both languages', () => {
    const CHINESE = /\p{Script=Han}/u;
    const tables: readonly Readonly<Record<string, { readonly en: string; readonly zh: string }>>[] = [REASONS, CATEGORIES, RECEIPT_VERDICTS, STATE_MEANINGS, AUDIT_CHECKS];
    for (const table of tables) {
      const meanings = Object.entries(table);
      for (const [code, { en, zh }] of meanings) {
        expect([code, en.trim().length > 3, CHINESE.test(en), CHINESE.test(zh)]).toEqual([code, true, false, true]);
      }
      expect(new Set(meanings.map(([, { en }]) => en)).size).toBe(meanings.length);
      expect(new Set(meanings.map(([, { zh }]) => zh)).size).toBe(meanings.length);
    }
  });

  test('only verdicts of receipts that prove something move a step', () => {
    expect(Object.entries(RECEIPT_VERDICTS).filter(([, { moves }]) => moves).map(([code]) => code)).toEqual(['matched', 'early', 'late_after_timeout']);
  });
});

describe('the error catalogue', () => {
  test('each error has a sentence, an HTTP status and an exit code that is no success', () => {
    for (const [code, { status, exit, sentence }] of Object.entries(ERRORS)) {
      expect([code, sentence.endsWith('.'), status >= 400 && status <= 599, exit > 0 && exit < 128]).toEqual([code, true, true, true]);
    }
  });
});
