import { describe, expect, test } from '@jest/globals';
import { CATEGORIES, classify, effectAnswer, isCategory, type Category, type ErrorFacts } from '../../src/state/index.ts';

const facts = (more: Partial<ErrorFacts>): ErrorFacts => ({ classes: ['Error'], ...more });
const categoryOf = (more: Partial<ErrorFacts>): Category => classify(facts(more)).category;

describe('the categories', () => {
  test('are this list, each retryable or not', () => {
    expect(Object.entries(CATEGORIES).map(([code, { retryable }]) => [code, retryable])).toEqual([
      ['timeout', true],
      ['congested', true],
      ['connection', true],
      ['deadlock', true],
      ['unavailable', true],
      ['worker_lost', true],
      ['invalid_input', false],
      ['resource_gone', false],
      ['authorization_revoked', false],
      ['rejected', false],
      ['artifact_invalid', false],
      ['result_too_large', false],
      ['programming_error', false],
    ]);
  });

  test('are told from other words', () => {
    expect(isCategory('timeout')).toBe(true);
    for (const word of ['Timeout', '', 'toString', '__proto__', 7, null, undefined]) expect(isCategory(word)).toBe(false);
  });
});

describe('the classifier', () => {
  test.each<[number, Category]>([
    [400, 'invalid_input'], [401, 'authorization_revoked'], [402, 'invalid_input'], [403, 'authorization_revoked'], [404, 'resource_gone'],
    [405, 'programming_error'], [408, 'timeout'], [409, 'rejected'], [410, 'resource_gone'], [412, 'rejected'], [413, 'invalid_input'],
    [418, 'invalid_input'], [421, 'unavailable'], [422, 'invalid_input'], [423, 'congested'], [425, 'congested'], [429, 'congested'],
    [451, 'rejected'], [499, 'invalid_input'], [500, 'unavailable'], [501, 'programming_error'], [502, 'unavailable'], [503, 'unavailable'],
    [504, 'timeout'], [507, 'unavailable'], [599, 'unavailable'],
  ])('HTTP %i is %s', (httpStatus, category) => {
    expect(categoryOf({ httpStatus })).toBe(category);
  });

  test('every HTTP error status has a category, and no other status decides', () => {
    for (let httpStatus = 400; httpStatus <= 599; httpStatus += 1) {
      expect(isCategory(categoryOf({ httpStatus }))).toBe(true);
      if (httpStatus >= 500 && httpStatus !== 501) expect([httpStatus, classify(facts({ httpStatus })).retryable]).toEqual([httpStatus, true]);
    }
    for (const httpStatus of [0, 200, 302, 399, 600, Number.NaN]) expect(categoryOf({ httpStatus })).toBe('programming_error');
  });

  test.each<[string, Category]>([
    ['ECONNREFUSED', 'connection'], ['ECONNRESET', 'connection'], ['EPIPE', 'connection'], ['ENOTFOUND', 'connection'], ['EAI_AGAIN', 'connection'],
    ['UND_ERR_SOCKET', 'connection'], ['ETIMEDOUT', 'timeout'], ['ABORT_ERR', 'timeout'], ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
    ['UND_ERR_HEADERS_TIMEOUT', 'timeout'], ['EMFILE', 'unavailable'], ['ENOSPC', 'unavailable'], ['ENOENT', 'resource_gone'], ['EACCES', 'authorization_revoked'],
    ['ERR_INVALID_ARG_TYPE', 'programming_error'],
  ])('Node code %s is %s', (nodeCode, category) => {
    expect(categoryOf({ nodeCode })).toBe(category);
  });

  test.each<[string, Category]>([
    ['40001', 'deadlock'], ['40P01', 'deadlock'], ['55P03', 'deadlock'], ['57014', 'timeout'], ['57P01', 'unavailable'], ['57P03', 'unavailable'],
    ['53300', 'unavailable'], ['08006', 'connection'], ['28P01', 'authorization_revoked'], ['42501', 'authorization_revoked'],
    ['23505', 'invalid_input'], ['22P02', 'invalid_input'], ['42601', 'programming_error'], ['XX000', 'programming_error'],
  ])('SQLSTATE %s is %s', (sqlstate, category) => {
    expect(categoryOf({ sqlstate })).toBe(category);
  });

  test('a class decides where no code does', () => {
    expect(categoryOf({ classes: ['TimeoutError', 'DOMException', 'Error'] })).toBe('timeout');
    expect(categoryOf({ classes: ['Special', 'ZodError', 'Error'] })).toBe('invalid_input');
    expect(categoryOf({ classes: ['TypeError', 'Error'] })).toBe('programming_error');
    expect(categoryOf({ classes: [] })).toBe('programming_error');
  });

  test("an author's word wins, then HTTP, SQLSTATE, Node code, class", () => {
    const all: ErrorFacts = { category: 'rejected', httpStatus: 503, sqlstate: '40001', nodeCode: 'ENOENT', classes: ['ZodError'] };
    expect(classify(all).category).toBe('rejected');
    expect(classify({ ...all, category: 'no category' }).category).toBe('unavailable');
    expect(classify({ ...all, category: undefined, httpStatus: undefined }).category).toBe('deadlock');
    expect(classify({ ...all, category: undefined, httpStatus: undefined, sqlstate: 'XX000' }).category).toBe('resource_gone');
    expect(classify({ classes: ['ZodError'], nodeCode: 'EUNKNOWN' }).category).toBe('invalid_input');
  });

  test('a wait that was asked for counts only where a further attempt does', () => {
    expect(classify(facts({ httpStatus: 429, retryAfterMs: 5 }))).toEqual({ category: 'congested', retryable: true, retryAfterMs: 5 });
    expect(classify(facts({ httpStatus: 429 })).retryAfterMs).toBeNull();
    expect(classify(facts({ httpStatus: 404, retryAfterMs: 5 }))).toEqual({ category: 'resource_gone', retryable: false, retryAfterMs: null });
  });
});

describe('what an error says about the outside', () => {
  test('an answer of 4xx is a refusal, but not those that leave open whether it acted', () => {
    for (let httpStatus = 400; httpStatus <= 599; httpStatus += 1) {
      // 409 is also what many answer while the first request under the same key is still running.
      const lost = httpStatus >= 500 || [408, 409, 425].includes(httpStatus);
      expect([httpStatus, effectAnswer(facts({ httpStatus }))]).toEqual([httpStatus, lost ? 'lost' : 'refused']);
    }
  });

  test('not sent is concluded only where no connection was made', () => {
    for (const nodeCode of ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']) expect(effectAnswer(facts({ nodeCode }))).toBe('not_sent');
    for (const nodeCode of ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ABORT_ERR', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_TIMEOUT', 'ECONNABORTED', 'EUNKNOWN']) expect(effectAnswer(facts({ nodeCode }))).toBe('lost');
  });

  test('an answer counts more than a code, and knowing nothing is lost', () => {
    expect(effectAnswer(facts({ httpStatus: 503, nodeCode: 'ECONNREFUSED' }))).toBe('lost');
    expect(effectAnswer(facts({}))).toBe('lost');
    expect(effectAnswer(facts({ category: 'rejected', sqlstate: '23505' }))).toBe('lost');
  });
});
