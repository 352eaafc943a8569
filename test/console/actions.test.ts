/** What a person does through the pages: each action says what it would do, does just that, and is refused in words. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openConsole, violations } from '../support/console.ts';
import type { Consoles, Visitor } from '../support/console.ts';
import { Tale } from '../support/tale.ts';

let pages: Consoles;
let operator: Visitor;
let reviewer: Visitor;
beforeAll(async () => {
  pages = await openConsole();
  operator = await pages.open('operator');
  reviewer = await pages.open('reviewer');
});
afterAll(async () => {
  await pages.close();
});

const seq = async ({ task }: Tale): Promise<number> => (await pages.client.get(task)).seq;
const act = async ({ page }: Visitor, button: string): Promise<void> => {
  await Promise.all([page.waitForURL((url) => !url.pathname.includes('/do/')), page.getByRole('button', { name: button, exact: true }).click()]);
};
const offered = async ({ page }: Visitor): Promise<string[]> => (await page.locator('.actions li').allTextContents()).map((text) => text.trim());

/** A step of each kind of need, and the action that it calls for. */
const dead = async (): Promise<Tale> => (await (await Tale.of(pages.ledger)).claim()).fail(false);
const openOutside = async (): Promise<Tale> => {
  const tale = await (await Tale.of(pages.ledger, { keyed: false, probe: false })).claim();
  await tale.intend();
  return tale.settle('lost');
};
const submitted = async (): Promise<Tale> => {
  const tale = await (await Tale.of(pages.ledger)).claim();
  await tale.confirmed();
  return tale.settle('submitted');
};

test('a cancel says what it would do, changes nothing until it is confirmed, and is then answered in words', async () => {
  const tale = await Tale.of(pages.ledger, [{ name: 'first' }, { name: 'second', needs: ['first'] }]);
  const { page } = operator;
  await operator.go(`/tasks/${tale.task}`);
  const before = await seq(tale);
  await page.locator('.actions').getByRole('link', { name: 'Cancel', exact: true }).click();
  const outcome = page.locator('.outcome');
  expect(await outcome.textContent()).toContain('first');
  expect(await outcome.locator('.moves').count()).toBe(2);
  expect(await seq(tale)).toBe(before);
  // Without a why it is refused, nothing typed is lost, and nothing is done.
  await page.fill('#x-who', 'mei');
  await page.getByRole('button', { name: 'Cancel it' }).click();
  await page.getByRole('alert').waitFor();
  expect(await page.getByRole('alert').textContent()).toContain('REASON_REQUIRED');
  expect(await page.inputValue('#x-who')).toBe('mei');
  expect(await seq(tale)).toBe(before);
  await page.fill('#x-why', 'wrong picture');
  await act(operator, 'Cancel it');
  const [cancel] = (await pages.client.record(tale.task)).cancels;
  expect(cancel).toMatchObject({ verb: 'cancel', step: null, by: 'token:operator/mei', why: 'wrong picture' });
  const [said] = (await pages.client.explain(tale.task)).cancels;
  expect(await page.getByRole('status').textContent()).toContain(said?.sentence);
  expect(await offered(operator)).toEqual([]);
  // It is said once.
  await page.reload();
  expect(await page.getByRole('status').count()).toBe(0);
});

test('what is shown before is what is done: for each action the page, the answer and the ledger agree', async () => {
  const cases: readonly (readonly [name: string, () => Promise<Tale>, path: string, fill: Readonly<Record<string, string>>, button: string, end: string])[] = [
    ['replay', dead, 'replay?step=publish', {}, 'Replay it', 'queued'],
    ['absent', openOutside, 'confirm?step=publish&effect=post', { '#x-evidence': 'not in the channel' }, 'It is not there', 'queued'],
    ['present', openOutside, 'confirm?step=publish&effect=post', { '#x-evidence': 'https://example.org/post-81', '#x-externalId': 'post-81' }, 'It is there', 'completed'],
    ['abandon', submitted, 'abandon-wait?step=publish', {}, 'Abandon the wait', 'dead'],
    ['withdraw', submitted, 'withdraw?step=publish', {}, 'Withdraw it', 'submitted'],
    ['cancel of a step', submitted, 'cancel?step=publish', {}, 'Cancel it', 'submitted'],
  ];
  for (const [name, life, path, fill, button, end] of cases) {
    const tale = await life();
    const { page } = operator;
    expect([name, await operator.go(`/tasks/${tale.task}/do/${path.replaceAll('publish', encodeURIComponent(tale.step))}`)]).toEqual([name, 200]);
    expect([name, ...(await violations(page))]).toEqual([name]);
    const outcome = page.locator('.outcome', { has: page.getByRole('button', { name: button, exact: true }) });
    const states = await outcome.locator('.moves .state').evaluateAll((all) => all.map((one) => one.getAttribute('title')));
    if (states.length > 0) expect([name, states.at(-1)]).toEqual([name, end]);
    expect([name, await outcome.locator('.notice.attention').count()]).toEqual([name, 0]);
    await page.fill('#x-why', `for the test of ${name}`);
    for (const [field, value] of Object.entries(fill)) await page.fill(field, value);
    const told = await outcome.locator('.change > p').last().textContent();
    await act(operator, button);
    expect([name, await tale.state()]).toEqual([name, end]);
    expect([name, told]).toEqual([name, (await pages.client.explain(tale.task)).headline]);
    expect(JSON.stringify((await pages.client.record(tale.task)).timeline)).toContain(`for the test of ${name}`);
    expect(await page.getByRole('status').count()).toBe(1);
  }
  expect(operator.trouble.filter((line) => !/\b4\d\d\b/.test(line))).toEqual([]);
});

test('a refusal is said in words before it is tried, and again when it is', async () => {
  const tale = await openOutside();
  const { page } = operator;
  await operator.go(`/tasks/${tale.task}/do/replay?step=${encodeURIComponent(tale.step)}`);
  expect(await page.locator('.outcome .refusal').textContent()).toBeTruthy();
  expect(await page.locator('.outcome').textContent()).toContain('REPLAY_EFFECT_OPEN');
  await page.fill('#x-why', 'trying anyway');
  await page.getByRole('button', { name: 'Replay it' }).click();
  await page.locator('.action > .notice').waitFor();
  expect(await page.locator('.action > .notice').textContent()).toContain('REPLAY_EFFECT_OPEN');
  expect(await page.inputValue('#x-why')).toBe('trying anyway');
  const zh = await pages.open('operator', { locale: 'zh-CN' });
  await zh.go(`/tasks/${tale.task}/do/replay?step=${encodeURIComponent(tale.step)}`);
  expect(await zh.page.locator('.outcome .refusal').textContent()).toMatch(/[\u4e00-\u9fff]/);
  expect(await violations(zh.page)).toEqual([]);
  await zh.close();
});

test('what would do something else by now than what was shown is shown again first', async () => {
  const tale = await dead();
  const { page } = operator;
  await operator.go(`/tasks/${tale.task}/do/replay?step=${encodeURIComponent(tale.step)}`);
  await page.fill('#x-why', 'the platform is back');
  await tale.replays();
  await tale.claim();
  await tale.fail(false);
  await tale.cancel();
  const before = await seq(tale);
  await page.getByRole('button', { name: 'Replay it' }).click();
  await page.getByRole('alert').first().waitFor();
  expect(await seq(tale)).toBe(before);
  expect(await page.locator('main').textContent()).toContain('REPLAY_CANCEL_SET');
});

test('the same form sent twice is one action', async () => {
  const tale = await dead();
  const { page } = operator;
  await operator.go(`/tasks/${tale.task}/do/replay?step=${encodeURIComponent(tale.step)}`);
  await page.fill('#x-why', 'the platform is back');
  const form = await page.evaluate<[string, string][]>('[...new FormData(document.querySelector("form[action*=\'/do/replay\']"))]');
  const post = () => page.request.post(page.url().split('?')[0] ?? '', { form: Object.fromEntries([...form, ['do', 'replay']]), maxRedirects: 0 });
  expect((await post()).status()).toBe(303);
  await post();
  expect((await pages.client.history(tale.task)).filter(({ kind, reason }) => kind === 'transition' && reason === 'replayed')).toHaveLength(1);
});

test('a reviewer opens a review, which is recorded, reads what there is to read, and decides', async () => {
  for (const [button, verdict, state] of [['Approve', 'approved', 'succeeded'], ['Reject', 'rejected', 'dead']] as const) {
    const tale = await (await (await Tale.of(pages.ledger, { review: true, effects: 'none' })).claim()).asks();
    const { page } = reviewer;
    await reviewer.go(`/tasks/${tale.task}`);
    expect(await offered(reviewer)).toEqual([`Open the review ${tale.step}`]);
    await page.getByRole('button', { name: /Open the review/ }).click();
    await page.waitForURL((url) => url.pathname.endsWith('/do/decide'));
    expect(await tale.state()).toBe('received');
    expect(await violations(page)).toEqual([]);
    await page.fill('#x-why', 'facts checked');
    await act(reviewer, button);
    expect(await tale.state()).toBe(state);
    expect((await pages.client.explain(tale.task)).steps[0]?.decision).toMatchObject({ verdict, by: expect.stringContaining('token:reviewer'), why: 'facts checked' });
  }
});

test('a receipt whose address was wrong is re-matched from the list of those that match nothing', async () => {
  const tale = await submitted();
  await tale.receipt('completed', { delivery_id: `lost-${tale.task}`, thread_id: 'another thread' });
  const { page } = operator;
  await operator.go('/receipts');
  expect(await violations(page)).toEqual([]);
  const row = page.locator('.unmatched li', { hasText: `lost-${tale.task}` });
  expect(await row.textContent()).toContain('wrong thread');
  await row.getByRole('textbox').fill(tale.task);
  await row.getByRole('button', { name: 'Re-match' }).click();
  await page.waitForURL((url) => url.pathname.endsWith('/do/rematch'));
  await page.fill('#x-why', 'their template named another thread');
  await act(operator, 'Re-match it');
  expect(await tale.state()).toBe('completed');
});

test('an entry is corrected, and both are shown', async () => {
  const tale = await dead();
  const { page } = operator;
  await operator.go(`/tasks/${tale.task}`);
  await page.locator('.entry summary').last().click();
  await page.locator('.entry').last().getByRole('link', { name: /Correct/ }).click();
  await page.waitForURL((url) => url.pathname.endsWith('/do/correct'));
  await page.fill('#x-why', 'it was the network');
  await act(operator, 'Append the correction');
  expect(await page.locator('.entry .corrected').first().textContent()).toContain('it was the network');
});

test('a role is offered what it may do, and the address of what it may not is refused', async () => {
  const tale = await openOutside();
  const step = encodeURIComponent(tale.step);
  await operator.go(`/tasks/${tale.task}`);
  expect((await offered(operator)).map((text) => text.replace(` ${tale.step}`, ''))).toEqual(['Replay', 'Confirm what is outside', 'Cancel']);
  const reader = await pages.open('reader');
  await reader.go(`/tasks/${tale.task}`);
  expect(await reader.page.locator('.actions').count()).toBe(0);
  for (const path of [`/tasks/${tale.task}/do/cancel`, `/tasks/${tale.task}/do/confirm?step=${step}`, '/bulks', '/bulks/new?kind=cancel&status=dead&scope=all']) expect([path, await reader.go(path)]).toEqual([path, 403]);
  expect(await violations(reader.page)).toEqual([]);
  await reader.close();
  const outsider = await pages.open('operator', { types: ['something-else'] });
  expect(await outsider.go(`/tasks/${tale.task}/do/cancel`)).toBe(403);
  await outsider.close();
  expect(await tale.state()).toBe('dead');
});

test('tasks chosen in the list become a dry run, which changes nothing until it is applied, and shows each result', async () => {
  const tales = [await dead(), await dead(), await Tale.of(pages.ledger)];
  const { page } = operator;
  await operator.go('/tasks');
  for (const { task } of tales) await page.locator(`input[name="task"][value="${task}"]`).check();
  await page.getByRole('button', { name: 'Dry run of a replay…' }).click();
  expect(await page.locator('main').textContent()).toContain('3 tasks chosen');
  expect(await violations(page)).toEqual([]);
  await page.fill('#x-why', 'the platform is back');
  await page.fill('#x-rate', '1000');
  await page.getByRole('button', { name: 'Make the dry run' }).click();
  await page.waitForURL((url) => url.pathname.includes('/bulks/replay/'));
  // The one that is not dead is not in it.
  expect(await page.locator('tbody tr').count()).toBe(2);
  expect(await page.locator('.planned').count()).toBe(1);
  expect(await violations(page)).toEqual([]);
  expect([await tales[0]?.state(), await tales[1]?.state()]).toEqual(['dead', 'dead']);
  await page.getByRole('button', { name: 'Apply it' }).click();
  await page.locator('progress').waitFor();
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  await pages.client.replays.drive(id);
  await page.locator('td.result.done').nth(1).waitFor();
  expect([await tales[0]?.state(), await tales[1]?.state()]).toEqual(['queued', 'queued']);
  expect(await page.locator('.progress-said').textContent()).toContain('2 of 2');
});

test('a bulk of all that fit a filter is aborted with a reason, and what was left stays as it was', async () => {
  const tale = await dead();
  const { type } = await pages.client.get(tale.task);
  const { page } = operator;
  await operator.go(`/tasks?status=dead&type=${encodeURIComponent(type)}`);
  await page.selectOption('#scope', 'all');
  await page.getByRole('button', { name: 'Dry run of a cancel…' }).click();
  await page.fill('#x-why', 'the feed was wrong');
  await page.getByRole('button', { name: 'Make the dry run' }).click();
  await page.waitForURL((url) => url.pathname.includes('/bulks/cancel/'));
  await page.fill('#abort-why', 'one too many');
  await page.getByRole('button', { name: 'Abort it' }).click();
  await page.locator('.state[title="aborted"]').waitFor();
  expect(await page.locator('main').textContent()).toContain('one too many');
  expect(await tale.state()).toBe('dead');
  await operator.go('/bulks');
  expect(await page.locator('.aged').count()).toBeGreaterThan(1);
  expect(await violations(page)).toEqual([]);
});

test('script in any field of an action is shown as it is, and comes back as it was', async () => {
  const text = `"><script>window.pwned=1</script>`;
  const tale = await openOutside();
  const { page } = operator;
  await operator.go(`/tasks/${tale.task}/do/confirm?step=${encodeURIComponent(tale.step)}&effect=${encodeURIComponent(text)}&why=${encodeURIComponent(text)}`);
  expect(await page.inputValue('#x-why')).toBe(text);
  await page.fill('#x-evidence', text);
  await page.getByRole('button', { name: 'It is there', exact: true }).click();
  await page.locator('main').waitFor();
  expect(await page.inputValue('#x-evidence')).toBe(text);
  expect(await page.evaluate('window.pwned')).toBeUndefined();
});
