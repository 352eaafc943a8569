/** @jsxRuntime automatic @jsxImportSource preact */
import type { Explanation } from '../../client/explain/index.ts';
import type { TaskRecord } from '../types.ts';

/** What the caller's role may do here, and the task's state allows. */
export function TaskActions(_: { readonly e: Explanation; readonly record: TaskRecord }) {
  return null;
}
