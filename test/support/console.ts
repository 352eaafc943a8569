/** The console in front of a ledger of one's own, in a real browser. */
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import type { AxeResults } from 'axe-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { ApiOptions } from '../../src/api/index.ts';
import type { Role } from '../../src/state/index.ts';
import { openApi } from './api.ts';
import type { ApiUnderTest } from './api.ts';
import { openBrowser } from './browser.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export interface Consoles extends Omit<ApiUnderTest, 'close'> {
  readonly browser: Browser;
  /** A page of a browser of its own, signed in as this role; null: not. Nothing that a page refuses or throws goes unseen: see `trouble`. */
  open(role: Role | null, options?: BrowserContextOptions & { readonly types?: readonly string[] }): Promise<Visitor>;
  close(): Promise<void>;
}

export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the browser complained of: scripts that threw, what the policy blocked, answers that were errors. */
  readonly trouble: string[];
  /** Opens a page of the console and answers with its status. */
  go(path: string): Promise<number>;
  close(): Promise<void>;
}

export async function openConsole(options: Partial<ApiOptions> = {}): Promise<Consoles> {
  const [api, browser] = await Promise.all([openApi({ requestsPerMinute: 100_000, refusalsPerMinute: 100_000, ...options }), openBrowser()]);
  return {
    ...api, browser,
    async open(role, { types, ...settings } = {}) {
      const context = await browser.newContext({ locale: 'en-US', ...settings });
      const page = await context.newPage();
      const trouble: string[] = [];
      page.on('console', (message) => { if (message.type() === 'error' || message.text().includes('Content Security Policy')) trouble.push(message.text()); });
      page.on('pageerror', (error) => trouble.push(error.message));
      const visitor: Visitor = {
        page, context, trouble,
        go: async (path) => (await page.goto(`${api.url}/console${path}`))?.status() ?? 0,
        close: () => context.close(),
      };
      if (role !== null) await signIn(visitor, await api.token(role, types));
      return visitor;
    },
    async close() {
      await browser.close();
      await api.close();
    },
  };
}

export async function signIn({ page, go }: Visitor, token: string): Promise<void> {
  await go('/sign-in');
  await page.fill('#token', token);
  await page.press('#token', 'Enter');
  await page.waitForURL((url) => !url.pathname.endsWith('/sign-in'));
}

/** What axe finds wrong with the page, in light and, where a scheme can matter, in dark; one line each. The page's policy allows no foreign script: axe comes through the debugger. */
export async function violations(page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await check(page, '{ resultTypes: ["violations"] }');
  await page.emulateMedia({ colorScheme: 'dark' });
  return [...light, ...(await check(page, '{ resultTypes: ["violations"], runOnly: ["color-contrast", "link-in-text-block"] }')).map((line) => `dark: ${line}`)];
}

async function check(page: Page, options: string): Promise<string[]> {
  const axe = await page.evaluate<AxeResults>(`${AXE}; axe.run(document, ${options})`);
  return axe.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary?.split('\n')[1]?.trim() ?? ''}`));
}
