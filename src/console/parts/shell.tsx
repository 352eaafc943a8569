/** @jsxRuntime automatic @jsxImportSource preact */
/** The page around each page: head, bar, content. */
import type { ComponentChildren } from 'preact';
import { LANGUAGES } from '../../config.ts';
import { address } from '../address.ts';
import { assetAddress } from '../assets.ts';
import { mayHere, useFrame } from '../frame.ts';
import { MESSAGES } from '../messages/index.ts';
import { Form } from './form.tsx';

const HTMX = JSON.stringify({ allowEval: false, includeIndicatorStyles: false, selfRequestsOnly: true, historyCacheSize: 0 });

interface Props {
  readonly title: string;
  readonly current?: 'overview' | 'tasks' | 'receipts' | 'bulks' | undefined;
  /** Goes on to this address of ours at once. */
  readonly refresh?: string | undefined;
  /** Renews its content in place so often. */
  readonly refreshAfterS?: number | undefined;
  readonly children: ComponentChildren;
}

export function Shell({ title, current, refresh, refreshAfterS, children }: Props) {
  const frame = useFrame();
  const { m, lang, caller, here } = frame;
  return (
    <html lang={lang}>
      <head>
        <meta charset="utf-8" />
        <title>{`${title} · ${m.brand}`}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="htmx-config" content={HTMX} />
        {refresh === undefined ? null : <meta http-equiv="refresh" content={`0;url=${refresh}`} />}
        <link rel="icon" href={assetAddress('icon.svg')} type="image/svg+xml" />
        <link rel="stylesheet" href={assetAddress('base.css')} />
        <link rel="stylesheet" href={assetAddress('console.css')} />
        <script src={assetAddress('htmx.js')} defer />
        <script src={assetAddress('sse.js')} defer />
        <script src={assetAddress('idiomorph.js')} defer />
        <script src={assetAddress('console.js')} defer />
      </head>
      <body>
        <a class="skip" href="#content">{m.skip}</a>
        <header class="bar">
          <a class="brand" href={address('/')}>
            <Mark />
            {m.brand}
          </a>
          {caller === null ? null : (
            <nav aria-label={m.nav.label}>
              <NavLink href={address('/')} here={current === 'overview'}>{m.nav.overview}</NavLink>
              <NavLink href={address('/tasks')} here={current === 'tasks'}>{m.nav.tasks}</NavLink>
              {caller.token.types.length === 0 ? <NavLink href={address('/receipts')} here={current === 'receipts'}>{m.actions.receipts.nav}</NavLink> : null}
              {mayHere(frame, 'bulk') ? <NavLink href={address('/bulks')} here={current === 'bulks'}>{m.actions.bulks.nav}</NavLink> : null}
            </nav>
          )}
          <Account />
        </header>
        {refreshAfterS === undefined
          ? <main id="content" tabIndex={-1}>{children}</main>
          : <main id="content" tabIndex={-1} hx-ext="morph" hx-get={here} hx-trigger={`every ${String(refreshAfterS)}s`} hx-select="#content" hx-swap="morph:outerHTML">{children}</main>}
      </body>
    </html>
  );
}

const NavLink = ({ href, here, children }: { readonly href: string; readonly here: boolean; readonly children: ComponentChildren }) => (
  <a href={href} aria-current={here ? 'page' : undefined}>{children}</a>
);

/** One line through: the product's mark. */
const Mark = () => (
  <svg class="mark" viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
    <path d="M2 12h20" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" />
    <circle cx="7" cy="12" r="3.1" fill="var(--surface)" stroke="currentColor" stroke-width="2.2" />
    <circle cx="17" cy="12" r="3.1" fill="currentColor" />
  </svg>
);

function Account() {
  const { m, lang, here, caller } = useFrame();
  return (
    <div class="account">
      <Form action={address('/language')} class="languages" label={m.account.language}>
        <input type="hidden" name="to" value={here} />
        {LANGUAGES.map((one) => (
          <button key={one} type="submit" name="lang" value={one} lang={one} aria-pressed={one === lang ? 'true' : 'false'}>
            {one === 'en' ? 'EN' : '中文'}
            <span class="away"> {MESSAGES[one].language}</span>
          </button>
        ))}
      </Form>
      {caller === null ? null : (
        <>
          <span class="who">
            <bdi>{caller.token.name}</bdi> <span class="quiet">{m.roles[caller.token.role]}</span>
          </span>
          <Form action={address('/sign-out')}>
            <button type="submit" class="plain">{m.account.sign_out}</button>
          </Form>
        </>
      )}
    </div>
  );
}
