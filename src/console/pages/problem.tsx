/** @jsxRuntime automatic @jsxImportSource preact */
import type { ThroughlineError } from '../../errors.ts';
import { address } from '../address.ts';
import { useFrame } from '../frame.ts';
import { Shell } from '../parts/shell.tsx';
import { Code } from '../parts/words.tsx';

/** A refusal in words, with its code for whoever is asked about it. */
export function ProblemPage({ error, request }: { readonly error: ThroughlineError; readonly request: string }) {
  const { m, lang, caller, here } = useFrame();
  const { path, limit, message } = error.detail;
  return (
    <Shell title={m.problem.title}>
      <section class="card problem">
        <p class="quiet">{String(error.status)}</p>
        <h1>{m.problem.title}</h1>
        <p class="lead">{lang === 'en' ? (message ?? m.errors[error.code]) : m.errors[error.code]}</p>
        <dl class="facts">
          <dt>{'Code'}</dt>
          <dd><Code>{error.code}</Code></dd>
          {path === undefined ? null : (
            <>
              <dt>{m.problem.at}</dt>
              <dd><Code>{path}</Code></dd>
            </>
          )}
          {limit === undefined ? null : (
            <>
              <dt>{m.problem.limit}</dt>
              <dd>{String(limit)}</dd>
            </>
          )}
          <dt>{m.problem.request}</dt>
          <dd><Code>{request}</Code></dd>
        </dl>
        <p>
          {caller === null ? <a class="button" href={address('/sign-in', { to: here })}>{m.problem.sign_in}</a> : <a class="button" href={address('/tasks')}>{m.problem.back}</a>}
        </p>
      </section>
    </Shell>
  );
}
