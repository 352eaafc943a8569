/** The page of a task: it says what `explain` says, shows what was recorded as it is, and follows the task without a reload. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { localArtifactStore } from '../../src/activities/artifacts.ts';
import type { Explanation } from '../../src/client/explain/index.ts';
import { openConsole, violations } from '../support/console.ts';
import type { Consoles, Visitor } from '../support/console.ts';
import { FAILURE, Tale } from '../support/tale.ts';

const folder = mkdtempSync(join(tmpdir(), 'throughline-console-'));
const store = localArtifactStore(folder);
let pages: Consoles;
let visitor: Visitor;
beforeAll(async () => {
  pages = await openConsole({ artifacts: store, eventBeatMs: 500, console: { temporalUi: { url: 'http://127.0.0.1:1/', namespace: 'my space' } } });
  visitor = await pages.open('operator');
});
afterAll(async () => {
  await pages.close();
  rmSync(folder, { recursive: true });
});

async function put(tale: Tale, name: string, media: string, content: string): Promise<string> {
  const { uri, sha256, bytes } = await store.put({ bytes: Buffer.from(content), mediaType: media });
  await pages.ledger.door.artifactPut(tale.task, tale.step, tale.claimed.id, { name, sha256, uri, media_type: media, bytes }, 10);
  return sha256;
}

/** Everything that the explanation says in words. */
function sentences(e: Explanation): string[] {
  return [
    e.headline, e.will_run_again.sentence, e.next_action.sentence, e.reason.meaning, e.driver.sentence,
    ...e.steps.flatMap((step) => [step.sentence, step.will_run_again.sentence, step.next.sentence, step.attempts.sentence, ...(step.last_failure === null ? [] : [step.last_failure.sentence])]),
    ...e.cancels.flatMap((cancel) => [cancel.sentence, cancel.verdict_meaning, ...cancel.steps.map(({ sentence }) => sentence)]),
    ...e.touches.flatMap(({ requests }) => requests.map(({ sentence }) => sentence)),
    ...e.receipts.flatMap((receipt) => [receipt.sentence, receipt.verdict_meaning]),
    ...e.proof.flatMap(({ sentence, checks, artifacts }) => (checks.length + artifacts.length > 0 ? [sentence] : [])),
    ...e.story.map(({ sentence }) => sentence),
  ];
}
const flat = (text: string): string => text.replace(/\s+/g, ' ').trim();

const SCRIPT = `<script>window.pwned=1</script><img src=x onerror="window.pwned=1">`;

/** Lives of which each shows another part of the page. */
const LIVES: Readonly<Record<string, () => Promise<Tale>>> = {
  'one that runs': async () => (await Tale.of(pages.ledger)).claim(),
  'one that succeeded, with artifacts, receipts that count and some that do not': async () => {
    const tale = await (await Tale.of(pages.ledger)).claim();
    await put(tale, 'note.html', 'text/html', '<h1>A note</h1>');
    await tale.confirmed();
    await tale.settle('submitted');
    await tale.receipt('received', { thread_id: 'another thread' });
    await tale.receives('received');
    await tale.receives('completed', { external_id: 'ext-1' });
    return tale.accept();
  },
  'one that is dead, was cancelled too late to stop it and has an open question': async () => {
    const tale = await (await Tale.of(pages.ledger, { keyed: false, probe: false })).claim();
    await tale.intend();
    await tale.settle('lost');
    await tale.cancel();
    return tale;
  },
  'one that was cancelled in time': async () => (await Tale.of(pages.ledger, [{ name: 'first' }, { name: 'second', needs: ['first'] }])).cancels(),
  'one that was replayed': async () => (await (await (await Tale.of(pages.ledger)).claim()).fail(false)).replays(),
};

test.each(Object.keys(LIVES))('the page of %s says what explain says, in both languages, and axe finds nothing', async (name) => {
  const tale = await LIVES[name]?.();
  if (tale === undefined) throw new Error('no such life');
  for (const lang of ['en', 'zh-CN'] as const) {
    await visitor.context.addCookies([{ name: 'throughline_lang', value: lang, url: `${pages.url}/console` }]);
    expect(await visitor.go(`/tasks/${tale.task}`)).toBe(200);
    const { body } = await pages.call('operator', 'GET', `/v1/tasks/${tale.task}/explanation`, { headers: { 'accept-language': lang } });
    const e = body as unknown as Explanation;
    const shown = flat(await visitor.page.locator('main').innerText());
    // What lies closed is there as well.
    const text = flat((await visitor.page.locator('main').textContent()) ?? '');
    expect(await visitor.page.getByRole('heading', { level: 1 }).textContent()).toBe(e.headline);
    expect(flat((await visitor.page.locator('.again').textContent()) ?? '')).toBe(e.will_run_again.sentence);
    expect(sentences(e).map(flat).filter((sentence) => !shown.includes(sentence) && !text.includes(sentence))).toEqual([]);
    expect(await visitor.page.locator('.headline .state.success').count()).toBe(e.success ? 1 : 0);
    await visitor.page.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true; })');
    // The words differ, the page does not: one life is looked at in both.
    if (lang === 'en' || name.startsWith('one that succeeded')) expect(await violations(visitor.page)).toEqual([]);
  }
  await visitor.context.clearCookies({ name: 'throughline_lang' });
  expect(visitor.trouble).toEqual([]);
});

test('script in any field is shown as it is and never runs', async () => {
  const tale = await (await Tale.of(pages.ledger, {}, { key: SCRIPT, by: SCRIPT })).claim(SCRIPT);
  const html = await put(tale, SCRIPT, 'text/html', `${SCRIPT}<p>the note</p><style>p { color: red }</style>`);
  await put(tale, 'picture', 'image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" onload="window.pwned=1"/>');
  await tale.confirmed();
  await tale.settle('submitted', { result: { url: SCRIPT } });
  await tale.receipt('received', { delivery_id: SCRIPT, sender: SCRIPT, code: SCRIPT, thread_id: SCRIPT, body: { text: SCRIPT } });
  await tale.receipt('text', { external_id: SCRIPT, body: { text: SCRIPT } });
  await tale.receipt('failed', { code: SCRIPT, body: { text: SCRIPT }, retryable: true });
  await tale.until('next_run_at');
  await tale.claim();
  await tale.fail(true, { error: { ...FAILURE, name: SCRIPT, message: SCRIPT } });
  await tale.cancel({ by: SCRIPT, why: SCRIPT });
  await pages.client.correct(tale.task, { entry: Number((await tale.timeline())[0]?.id), to: null, by: SCRIPT, why: SCRIPT } as never);
  for (const path of [`/tasks/${tale.task}`, `/tasks?text=${encodeURIComponent(SCRIPT.slice(0, 20))}`]) {
    await visitor.go(path);
    expect(await visitor.page.locator('main').textContent()).toContain(SCRIPT);
    await visitor.page.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true; })');
    expect(await visitor.page.evaluate('window.pwned')).toBeUndefined();
    expect(await visitor.page.locator('main script, main img[src="x"]').count()).toBe(0);
  }
  await visitor.go(`/tasks/${tale.task}`);
  await visitor.page.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true; })');
  await visitor.page.frameLocator('iframe').getByText('the note').waitFor();
  // The frame's own page runs nothing either, also where it is opened by itself.
  expect(await visitor.page.evaluate('window.pwned')).toBeUndefined();
  await visitor.go(`/tasks/${tale.task}/artifacts/${html}/preview`);
  expect(await visitor.page.evaluate('window.pwned')).toBeUndefined();
  // What the policy kept from running, the browser tells; nothing else.
  expect(visitor.trouble.filter((line) => !/sandbox|Content Security Policy/i.test(line))).toEqual([]);
  visitor.trouble.length = 0;
});

test('a page follows its task without a reload, and what a reader opened stays open', async () => {
  const tale = await Tale.of(pages.ledger);
  await visitor.go(`/tasks/${tale.task}`);
  const { page } = visitor;
  await page.evaluate('window.same = true');
  await page.locator('.entry summary').first().click();
  await page.locator('.lane .state', { hasText: 'queued' }).waitFor();
  await tale.claim();
  await page.locator('.lane .state', { hasText: 'running' }).waitFor();
  await tale.confirmed();
  await tale.settle('submitted');
  await page.locator('.lane .state', { hasText: 'submitted' }).waitFor();
  expect(await page.evaluate('window.same')).toBe(true);
  expect(await page.locator('.entry details').first().getAttribute('open')).not.toBeNull();
  const answer = await page.request.get(page.url());
  expect(flat((await page.getByRole('heading', { level: 1 }).textContent()) ?? '')).toBe(flat(/<h1[^>]*>([^<]*)</.exec(await answer.text())?.[1] ?? 'none'));
  expect(visitor.trouble).toEqual([]);
});

test('a live page of a token that was revoked goes to where one signs in', async () => {
  const { token } = await pages.client.access.createToken({ name: 'leaver', role: 'reader' });
  const leaver = await pages.open(null);
  await leaver.go('/sign-in');
  await leaver.page.fill('#token', token);
  await leaver.page.press('#token', 'Enter');
  await leaver.page.waitForURL((url) => !url.pathname.endsWith('/sign-in'));
  const tale = await Tale.of(pages.ledger);
  await leaver.go(`/tasks/${tale.task}`);
  await pages.client.access.revokeToken('leaver');
  await leaver.page.waitForURL((url) => url.pathname === '/console/sign-in');
  await leaver.close();
});

test('the overview counts what there is, says what waits for how long, and what was tried and rescued', async () => {
  const dead = await (await (await Tale.of(pages.ledger, { effects: 'none', probe: false, reentrant: false, attempts: 9 })).claim()).expire();
  expect(await dead.state()).toBe('dead');
  const { gauges, activity } = await pages.client.overview();
  const { type } = await pages.client.get(dead.task);
  const sum = (of: 'attempts' | 'rescues'): number => activity.spans.reduce((all, span) => all + span[of], 0);
  const [told] = await pages.ledger.query<{ attempts: number; rescues: number }>("select count(*) filter (where event = 'claim')::int as attempts, count(*) filter (where event = 'expire')::int as rescues from throughline.timeline where kind = 'transition' and part = 1");
  expect({ attempts: sum('attempts'), rescues: sum('rescues') }).toEqual(told);
  expect(told?.rescues).toBeGreaterThan(0);
  expect(activity.spans).toHaveLength(48);
  for (const lang of ['en', 'zh-CN'] as const) {
    await visitor.context.addCookies([{ name: 'throughline_lang', value: lang, url: `${pages.url}/console` }]);
    await visitor.go('/');
    const { page } = visitor;
    expect(await page.locator(`.counts a[href*="status=dead"][href*="${type}"]`).textContent()).toBe('1');
    expect(await page.locator('.aged').count()).toBe(gauges.queued.length + gauges.troubled.length);
    expect(await page.locator('.bars strong').allTextContents()).toEqual([String(told?.attempts), String(told?.rescues)]);
    expect(await page.locator('.lamp').count()).toBe(4);
    expect(await violations(page)).toEqual([]);
  }
  await visitor.context.clearCookies({ name: 'throughline_lang' });
  const outsider = await pages.open('reader', { types: ['something-else'] });
  await outsider.go('/');
  expect(await outsider.page.locator('main').textContent()).not.toContain(type);
  expect(await outsider.page.locator('.bars').count()).toBe(0);
  await outsider.close();
  expect(visitor.trouble).toEqual([]);
});

test('text finds a task by the beginning of its id, its key or its subject, and nothing else', async () => {
  const key = ['笔记/7', 'publish', '1'].map(encodeURIComponent).join('/');
  const tale = await Tale.of(pages.ledger, {}, { key });
  const found = async (text: string): Promise<string[]> => (await pages.client.list({ text })).rows.map(({ id }) => id);
  for (const text of [tale.task, tale.task.toUpperCase(), tale.task.slice(0, 8), tale.task.slice(0, 14), '笔记/7', '笔记', key, key.slice(0, 12)]) expect([text, await found(text)]).toEqual([text, [tale.task]]);
  for (const text of ['publish', '/', '%%', '_', 'zzzzzzzz', `${tale.task.slice(0, 35)}g`, '\u{1F4DD}', "' or 1=1 --"]) expect([text, (await found(text)).includes(tale.task)]).toEqual([text, false]);
  expect(await pages.call('reader', 'GET', `/v1/tasks?text=${encodeURIComponent('笔记')}`)).toMatchObject({ status: 200, body: { rows: [{ id: tale.task }] } });
  await expect(pages.client.list({ text: 'a\u0000b' })).rejects.toMatchObject({ code: 'INPUT_NOT_STORABLE' });
});

test('a token for some types sees no other task, in the list, by its page, its stream or its artifacts', async () => {
  const tale = await Tale.of(pages.ledger);
  const outsider = await pages.open('reader', { types: ['something-else'] });
  expect(await outsider.page.locator('tbody tr').count()).toBe(0);
  for (const path of ['', '/live', `/artifacts/${'0'.repeat(64)}/preview`, `/artifacts/${'0'.repeat(64)}/content`]) {
    expect([path, await outsider.go(`/tasks/${tale.task}${path}`)]).toEqual([path, 403]);
    expect(await outsider.page.locator('main').textContent()).toContain('TYPE_FORBIDDEN');
  }
  await outsider.close();
});

test('ids and keys with odd characters open the right page, and what is none is said in words', async () => {
  const key = 'a/b?c=d&e#f %2F "g" <h> 笔记 \u202etxt';
  const tale = await Tale.of(pages.ledger, {}, { key });
  await visitor.go(`/tasks?text=${encodeURIComponent(key)}`);
  await visitor.page.locator('tbody a').click();
  await visitor.page.waitForURL(`${pages.url}/console/tasks/${tale.task}`);
  expect(await visitor.page.locator('.ids').textContent()).toContain(key);
  expect(await visitor.go(`/tasks/${tale.task.toUpperCase()}`)).toBe(200);
  for (const [id, status, code] of [['nope', 400, 'ID_INVALID'], ['%2e%2e%2fv1', 400, 'ID_INVALID'], ['%3Cscript%3E', 400, 'ID_INVALID'], ['00000000-0000-4000-8000-000000000000', 404, 'TASK_UNKNOWN']] as const) {
    expect([id, await visitor.go(`/tasks/${id}`)]).toEqual([id, status]);
    expect(await visitor.page.locator('main').textContent()).toContain(code);
  }
  visitor.trouble.length = 0;
});
