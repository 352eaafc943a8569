/** Whatever a handler throws, as a record: bounded, readable, storable, with the real cause in front. */
import { LIMITS, classify, effectAnswer, isCategory, type Category, type ErrorFacts } from '../state/index.ts';
import { attempt, bounded, classesOf, codeOf, isObject, member, messageOf, numberOf } from './thrown-read.ts';

/** One error of a chain, short. */
export interface CauseRecord {
  readonly name: string;
  /** At most 500 characters. */
  readonly message: string;
  readonly code: string | null;
}

/** A thrown value as it is stored. Texts hold no hidden characters. */
export interface ThrownRecord {
  /** What the classifier decides by. */
  readonly facts: ErrorFacts;
  /** Name and message of the real cause: the deepest error that says something, or the author's own words. */
  readonly name: string;
  /** At most `error_text_chars_max` characters, never empty. */
  readonly message: string;
  /** The cause's own code: a Node code, a SQLSTATE, an author's code; null if it has none. */
  readonly code: string | null;
  /** The other errors of the chain, wrappers first; at most `error_causes_max`. */
  readonly causes: readonly CauseRecord[];
  /** Errors of the chain that are not listed. */
  readonly causes_omitted: number;
  /** Characters (UTF-16 units) that are missing from message and causes. */
  readonly cut: number;
}

const CAUSE_CHARS_MAX = 500;
/** A chain is followed this far; cycles end it earlier. */
const NODES_MAX = 100;
const AUTHORS: ReadonlySet<string> = new Set(['TaskError', 'EffectRefused', 'EffectNotSent']);
const SQLSTATE = /^[0-9A-Z]{5}$/;
const NODE_CODE = /^(E[A-Z0-9_]{1,60}|UND_ERR_[A-Z0-9_]{1,50}|ABORT_ERR)$/;

/** What our own errors mean when a handler lets them through; every other one is the program's mistake. */
const OWN: Readonly<Partial<Record<string, Category>>> = {
  INPUT_INVALID: 'invalid_input',
  INPUT_NOT_STORABLE: 'invalid_input',
  INPUT_TOO_LARGE: 'invalid_input',
  RESULT_INVALID: 'programming_error',
  RESULT_TOO_LARGE: 'result_too_large',
  ARTIFACT_UNKNOWN: 'resource_gone',
  ARTIFACT_UNREADABLE: 'unavailable',
  ARTIFACT_DAMAGED: 'artifact_invalid',
  ARTIFACT_STORE_DENIED: 'authorization_revoked',
  ARTIFACT_STORE_MISSING: 'resource_gone',
  LEDGER_UNAVAILABLE: 'unavailable',
  TEMPORAL_UNAVAILABLE: 'unavailable',
  SERIALIZATION: 'deadlock',
  WAIT_TIMEOUT: 'timeout',
};
/** Our own errors that only pass on what the other side or the author's call said. */
const PASSING_ON: Readonly<Partial<Record<string, Category>>> = { EFFECT_REFUSED: 'rejected', EFFECT_NOT_SENT: 'connection' };

/** How much an error says: 2 what kind of failure it is, 1 only a sentence, 0 nothing. */
type Weight = 0 | 1 | 2;

interface Node {
  readonly value: unknown;
  readonly name: string;
  readonly code: string | null;
  readonly facts: ErrorFacts;
  readonly weight: Weight;
  /** What it is said to come from: its cause, then the errors that it sums up. */
  readonly children: readonly Node[];
}

function retryAfterOf(value: unknown, now: number): number | undefined {
  const ms = numberOf(member(value, 'retryAfterMs'));
  const headers = member(member(value, 'response'), 'headers');
  const header = attempt<unknown>(() => (headers as { get(name: string): unknown }).get('retry-after'), member(headers, 'retry-after'));
  const wait = ms ?? secondsOrDate(member(value, 'retryAfter'), now) ?? secondsOrDate(header, now);
  return wait === undefined || wait < 0 ? undefined : Math.min(Math.ceil(wait), LIMITS.retry_after_ms_max);
}

/** Retry-After as RFC 9110 has it: seconds or an HTTP date; a date in the past means now. */
function secondsOrDate(value: unknown, now: number): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value * 1_000 : undefined;
  if (value instanceof Date) return secondsOrDate(attempt(() => value.toUTCString(), ''), now);
  if (typeof value !== 'string' || value.length > 100) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(value)) return Number(value) * 1_000;
  const date = /[A-Za-z]{3}.*\d{2}:\d{2}/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isFinite(date) ? Math.max(0, date - now) : undefined;
}

function statusOf(value: unknown): number | undefined {
  const response = member(value, 'response');
  return [member(value, 'status'), member(value, 'statusCode'), member(response, 'status'), member(response, 'statusCode')]
    .map(numberOf)
    .find((status) => status !== undefined && Number.isInteger(status) && status >= 400 && status <= 599);
}

/** Undefined members are left out, so that the record is plain JSON. */
const compact = (facts: ErrorFacts): ErrorFacts => Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as unknown as ErrorFacts;

function factsOf(value: unknown, classes: readonly string[], code: string | null, now: number): ErrorFacts {
  const said = member(value, 'category');
  if (classes.includes('ThroughlineError')) {
    // Their `status` is for our own API and says nothing about a handler's failure.
    const own = code !== null && code in PASSING_ON ? undefined : (OWN[code ?? ''] ?? 'programming_error');
    return compact({ category: own, classes });
  }
  const isSqlstate = code !== null && SQLSTATE.test(code) && typeof member(value, 'severity') === 'string';
  return compact({
    category: classes.some((name) => AUTHORS.has(name)) && isCategory(said) ? said : undefined,
    classes,
    httpStatus: statusOf(value),
    retryAfterMs: retryAfterOf(value, now),
    sqlstate: isSqlstate ? code : undefined,
    nodeCode: code !== null && !isSqlstate && NODE_CODE.test(code) ? code : undefined,
  });
}

function weigh(value: unknown, facts: ErrorFacts): Weight {
  if (facts.category !== undefined || facts.httpStatus !== undefined || classify(facts).category !== 'programming_error') return 2;
  const message = isObject(value) ? member(value, 'message') : value;
  return typeof message === 'string' && message.trim() !== '' ? 1 : 0;
}

function summedUp(value: unknown, left: number): readonly unknown[] {
  const errors = member(value, 'errors');
  if (!attempt(() => Array.isArray(errors), false)) return [];
  const length = Math.min(numberOf(member(errors, 'length')) ?? 0, left);
  return Array.from({ length }, (_, index) => member(errors, String(index)));
}

/** Reads a chain into a tree of at most 100 errors, each once. */
function grow(value: unknown, seen: Set<unknown>, budget: { left: number }, now: number): Node {
  budget.left -= 1;
  seen.add(value);
  const classes = classesOf(value);
  const name = classes[0] ?? (value === null ? 'null' : typeof value);
  const code = codeOf(value, classes);
  const facts = factsOf(value, classes, code, now);
  const children: Node[] = [];
  for (const child of [member(value, 'cause'), ...summedUp(value, budget.left)]) {
    if (child === undefined || child === null || seen.has(child) || budget.left <= 0) continue;
    children.push(grow(child, seen, budget, now));
  }
  return { value, name, code, facts, weight: weigh(value, facts), children };
}

/** Of errors that were summed up, the one that claims least about the outside speaks: "not sent" only if none says otherwise. */
const CLAIM = { lost: 0, refused: 1, not_sent: 2 } as const;

/** Our own errors say all there is to say: a cause such as the ledger's lost connection is none of the other side's. */
const isOwn = ({ facts, code }: Node): boolean => facts.classes.includes('ThroughlineError') && !(code !== null && code in PASSING_ON);

function deepest(node: Node): Node {
  if (isOwn(node)) return node;
  const candidates = node.children.map(deepest).filter(({ weight }) => weight > 0);
  const [best] = candidates.sort((a, b) => CLAIM[effectAnswer(a.facts)] - CLAIM[effectAnswer(b.facts)] || b.weight - a.weight);
  return best !== undefined && best.weight >= node.weight ? best : node;
}

/** All errors of the tree, from the outside in. */
const listed = (node: Node): readonly Node[] => [node, ...node.children.flatMap(listed)];

/** The facts of the real cause, completed from its wrappers: the author's category, and how long to wait. */
function completed(front: Node, all: readonly Node[]): ErrorFacts {
  const passedOn = all.map(({ facts, code }) => (facts.classes.includes('ThroughlineError') && code !== null ? PASSING_ON[code] : undefined)).find((category) => category !== undefined);
  return compact({
    ...front.facts,
    category: front.facts.category ?? (front.weight < 2 ? passedOn : undefined),
    retryAfterMs: front.facts.retryAfterMs ?? all.find(({ facts }) => facts.retryAfterMs !== undefined)?.facts.retryAfterMs,
  });
}

function record(thrown: unknown, now: number): ThrownRecord {
  const root = grow(thrown, new Set(), { left: NODES_MAX }, now);
  const all = listed(root);
  // An author's own word stands before everything; otherwise the deepest error that says something.
  const authors = all.find(({ facts }) => facts.category !== undefined && facts.classes.some((name) => AUTHORS.has(name)));
  const front = authors ?? deepest(root);
  const others = all.filter((node) => node !== front);
  const shown = others.slice(0, LIMITS.error_causes_max).map((node) => ({ node, text: bounded(messageOf(node.value, node.name), CAUSE_CHARS_MAX) }));
  const message = bounded(messageOf(front.value, front.name), LIMITS.error_text_chars_max);
  // Facts of the deepest cause also count below an author's error that has none of its own.
  const { facts: below } = authors === undefined ? front : deepest(authors);
  const facts = completed(authors === undefined ? front : { ...front, facts: { ...below, ...front.facts } }, all);
  return {
    facts,
    name: front.name,
    message: message.text,
    code: front.code,
    causes: shown.map(({ node, text }) => ({ name: node.name, message: text.text, code: node.code })),
    causes_omitted: others.length - shown.length,
    cut: shown.reduce((sum, { text }) => sum + text.cut, message.cut),
  };
}

/**
 * The record of any thrown value: undefined, a text, a proxy that throws, a cycle of causes, megabytes.
 * Never throws. `now` (milliseconds) is what a Retry-After date is compared with.
 *
 * `facts.httpStatus`, `nodeCode` and `sqlstate` come from the deepest cause that has one; among errors
 * that an AggregateError sums up, from the one that claims least about the outside, so that "not sent"
 * is never concluded from one of several calls.
 */
export function readThrown(thrown: unknown, now: number = Date.now()): ThrownRecord {
  return attempt(() => record(thrown, now), {
    facts: { classes: [] },
    name: 'unreadable',
    message: 'what was thrown cannot be read',
    code: null,
    causes: [],
    causes_omitted: 0,
    cut: 0,
  });
}
