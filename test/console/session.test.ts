/** Who comes in, what a browser lets pages do, and in which language. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openConsole, signIn, violations } from '../support/console.ts';
import type { Consoles } from '../support/console.ts';

let pages: Consoles;
beforeAll(async () => {
  pages = await openConsole();
});
afterAll(async () => {
  await pages.close();
});

const get = (path: string, headers: Readonly<Record<string, string>> = {}, init: RequestInit = {}) => fetch(`${pages.url}/console${path}`, { redirect: 'manual', ...init, headers });

/** As a browser would: the cookies and the form token of a page. */
async function form(path: string, cookie = ''): Promise<{ readonly cookie: string; readonly csrf: string }> {
  const answer = await get(path, { cookie });
  const set = answer.headers.getSetCookie().map((one) => one.split(';')[0] ?? '');
  return { cookie: set.length === 0 ? cookie : set.join('; '), csrf: /name="_csrf" value="([^"]+)"/.exec(await answer.text())?.[1] ?? '' };
}
const post = (path: string, cookie: string, fields: Readonly<Record<string, string>>) => get(path, { cookie, 'content-type': 'application/x-www-form-urlencoded' }, { method: 'POST', body: new URLSearchParams(fields).toString() });

async function session(token: string): Promise<string> {
  const { cookie, csrf } = await form('/sign-in');
  const answer = await post('/sign-in', cookie, { token, _csrf: csrf, to: '/console/tasks' });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/console/tasks']);
  return answer.headers.getSetCookie().map((one) => one.split(';')[0] ?? '').join('; ');
}

test('a person signs in with a token, is where they wanted to be, and signs out again', async () => {
  const visitor = await pages.open(null);
  const { page } = visitor;
  await visitor.go('/tasks?status=dead');
  expect(new URL(page.url()).pathname).toBe('/console/sign-in');
  await page.fill('#token', 'tl_not-a-token');
  await page.press('#token', 'Enter');
  expect(await page.getByRole('alert').textContent()).toContain('not known, has expired or was revoked');
  await page.fill('#token', await pages.token('reader'));
  await page.press('#token', 'Enter');
  await page.waitForURL(`${pages.url}/console/tasks?status=dead`);
  expect(await page.locator('.who').textContent()).toBe('reader reader');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL((url) => url.pathname === '/console/sign-in');
  await visitor.go('/tasks');
  expect(new URL(page.url()).pathname).toBe('/console/sign-in');
  expect(visitor.trouble.filter((line) => !line.includes('401'))).toEqual([]);
  await visitor.close();
});

test("a token that is revoked ends its session at the next request, and its cookie's copy is worth nothing", async () => {
  const { token } = await pages.client.access.createToken({ name: 'leaver', role: 'reader' });
  const cookie = await session(token);
  expect((await get('/tasks', { cookie })).status).toBe(200);
  await pages.client.access.revokeToken('leaver');
  const after = await get('/tasks', { cookie });
  expect([after.status, after.headers.get('location')]).toEqual([303, '/console/sign-in?to=%2Fconsole%2Ftasks']);
  expect(after.headers.getSetCookie().join()).toMatch(/throughline_session=;.*Max-Age=0/);
});

test('the session is out of reach of scripts and other sites, and says nothing of the token', async () => {
  const token = await pages.token('reader');
  const { cookie, csrf } = await form('/sign-in');
  const answer = await post('/sign-in', cookie, { token, _csrf: csrf });
  const [set = ''] = answer.headers.getSetCookie();
  expect(set).toMatch(/; Path=\/console/);
  for (const part of ['HttpOnly', 'SameSite=Strict']) expect(set).toContain(part);
  expect(decodeURIComponent(set)).not.toContain(token.slice(3));
  // Changed by a letter it is nobody's.
  const [name = '', value = ''] = (set.split(';')[0] ?? '').split('=');
  const bent = `${name}=${value.startsWith('A') ? 'B' : 'A'}${value.slice(1)}`;
  expect((await get('/tasks', { cookie: bent })).status).toBe(303);
});

test('nothing is changed by a form of another site or an older session', async () => {
  const cookie = await session(await pages.token('admin'));
  for (const _csrf of ['', 'x', (await form('/sign-in')).csrf]) {
    const refused = await post('/sign-out', cookie, { _csrf });
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain('FORM_EXPIRED');
  }
  expect((await get('/tasks', { cookie })).status).toBe(200);
});

test('a role that may not read is told so and gets no session', async () => {
  const { cookie, csrf } = await form('/sign-in');
  const answer = await post('/sign-in', cookie, { token: await pages.token('platform'), _csrf: csrf });
  expect(answer.status).toBe(403);
  expect(await answer.text()).toContain('may not read tasks');
});

test('after signing in nobody is sent to another site', async () => {
  for (const to of ['https://evil.example/', '//evil.example', '/\\evil.example', '/v1/tasks', 'javascript:alert(1)', '/console/../v1', '/consolex']) {
    const { cookie, csrf } = await form(`/sign-in?to=${encodeURIComponent(to)}`);
    const answer = await post('/sign-in', cookie, { token: await pages.token('reader'), _csrf: csrf, to });
    expect([to, answer.headers.get('location')]).toEqual([to, '/console/']);
  }
});

test('who comes by a link of another site goes on with the session that they have', async () => {
  const visitor = await pages.open('reader');
  for (const path of ['/sign-in', '/nowhere', '/tasks?status=dead']) {
    await visitor.page.goto(`data:text/html,<a href="${pages.url}/console${path}">look</a>`);
    await visitor.page.getByRole('link').click();
    await visitor.page.getByRole('heading', { level: 1 }).waitFor();
  }
  expect(visitor.page.url()).toBe(`${pages.url}/console/tasks?status=dead`);
  expect(await visitor.page.getByRole('heading', { level: 1 }).textContent()).toBe('Tasks');
  await visitor.close();
});

test('every answer has a policy that lets nothing in from elsewhere and nothing inline run', async () => {
  const cookie = await session(await pages.token('reader'));
  for (const path of ['/sign-in', '/tasks', '/nowhere', '/tasks?sort=x']) {
    const policy = (await get(path, { cookie })).headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
  }
  const html = await (await get('/tasks', { cookie })).text();
  expect(html).not.toMatch(/<script(?![^>]* src="\/console\/)|\son[a-z]+="|\sstyle="|javascript:/i);
  const sources = [...html.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '');
  expect(sources.length).toBeGreaterThan(5);
  for (const path of sources) expect([path, (await fetch(pages.url + path.replaceAll('&amp;', '&'))).status]).toEqual([path, 200]);
});

test('the language is the one asked for, or the one chosen before', async () => {
  const visitor = await pages.open('reader', { locale: 'zh-CN' });
  const { page } = visitor;
  await visitor.go('/tasks?status=queued');
  expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN');
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('任务');
  await page.getByRole('button', { name: 'English' }).click();
  await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
  expect(page.url()).toContain('status=queued');
  await visitor.go('/tasks');
  expect(await page.locator('html').getAttribute('lang')).toBe('en');
  await visitor.close();
});

test('a filter or sort column that is none is 400, in words, in both languages', async () => {
  const cookie = await session(await pages.token('reader'));
  for (const [query, path] of [['sort=key', '/sort'], ['status=green', '/status'], ['reason=%3Cscript%3E', '/reason'], ['from=yesterday', '/from'], ['cursor=zzz', '/cursor'], ['status=dead&status=queued', '/status']] as const) {
    const en = await get(`/tasks?${query}`, { cookie });
    expect([query, en.status]).toEqual([query, 400]);
    expect(await en.text()).toContain(path);
  }
  const zh = await get('/tasks?sort=key', { cookie, 'accept-language': 'zh-CN' });
  expect(await zh.text()).toContain('筛选条件或排序列未知');
});

test('axe finds nothing on the pages that need no task', async () => {
  for (const locale of ['en-US', 'zh-CN']) {
    const visitor = await pages.open(null, { locale });
    await visitor.go('/sign-in');
    expect(await violations(visitor.page)).toEqual([]);
    await signIn(visitor, await pages.token('reader'));
    for (const path of ['/tasks', '/tasks?sort=x']) {
      await visitor.go(path);
      expect([path, ...(await violations(visitor.page))]).toEqual([path]);
    }
    await visitor.close();
  }
});
