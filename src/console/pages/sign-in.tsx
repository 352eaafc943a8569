/** @jsxRuntime automatic @jsxImportSource preact */
import { address } from '../address.ts';
import { useFrame } from '../frame.ts';
import { Form } from '../parts/form.tsx';
import { Shell } from '../parts/shell.tsx';

export function SignInPage({ to, refused }: { readonly to: string; readonly refused?: string | undefined }) {
  const { m } = useFrame();
  return (
    <Shell title={m.sign_in.title}>
      <section class="sign-in card">
        <h1>{m.sign_in.title}</h1>
        <p class="lead">{m.sign_in.lead}</p>
        {refused === undefined ? null : <p class="notice attention" role="alert">{refused}</p>}
        <Form action={address('/sign-in')} class="stack">
          <input type="hidden" name="to" value={to} />
          <label for="token">{m.sign_in.token}</label>
          <input id="token" name="token" type="password" autocomplete="current-password" required maxLength={200} spellcheck={false} autoCapitalize="off" aria-describedby="token-hint" autoFocus />
          <p id="token-hint" class="quiet">{m.sign_in.hint}</p>
          <button type="submit" class="primary">{m.sign_in.submit}</button>
        </Form>
      </section>
    </Shell>
  );
}

/** Who follows a link from elsewhere arrives without the session's cookie: coming from ourselves, it is there. Another address, since a browser takes the same one for a reload of the foreign link. */
export function OnwardPage({ to }: { readonly to: string }) {
  const { m } = useFrame();
  return (
    <Shell title={m.brand} refresh={to}>
      <p class="onward"><a href={to}>{m.sign_in.again}</a></p>
    </Shell>
  );
}
