/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { useFrame } from '../frame.ts';

interface Props {
  readonly action: string;
  readonly class?: string;
  readonly label?: string;
  readonly children: ComponentChildren;
}

/** A form that changes something: it carries the session's form token. */
export function Form({ action, class: className, label, children }: Props) {
  const { csrf } = useFrame();
  return (
    <form method="post" action={action} class={className} aria-label={label}>
      <input type="hidden" name="_csrf" value={csrf} />
      {children}
    </form>
  );
}
