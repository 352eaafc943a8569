/** @jsxRuntime automatic @jsxImportSource preact */
import type { Explanation } from '../../client/explain/index.ts';
import { address, taskAddress } from '../address.ts';
import { TaskActions } from '../parts/actions.tsx';
import { Answers, Headline } from '../parts/answers.tsx';
import { Cancels, Links } from '../parts/cancels.tsx';
import { Receipts, Touches } from '../parts/outside.tsx';
import { Proofs } from '../parts/proof.tsx';
import { Shell } from '../parts/shell.tsx';
import { Steps } from '../parts/steps.tsx';
import { Timeline } from '../parts/timeline.tsx';
import type { TaskRecord } from '../types.ts';
import { SaidNotice } from './action.tsx';
import type { Said } from './action.tsx';

/** One page answers "why was it not published?". When the task's timeline grows, the page fetches itself and changes where it differs. */
export function TaskPage({ record, e, said }: { readonly record: TaskRecord; readonly e: Explanation; readonly said: Said | null }) {
  const here = taskAddress(e.task.id);
  const last = record.timeline.at(-1)?.id ?? 0;
  return (
    <Shell title={e.task.key ?? e.task.id} current="tasks">
      {said === null ? null : <SaidNotice said={said} />}
      <div hx-ext="sse,morph" sse-connect={address(`/tasks/${encodeURIComponent(e.task.id)}/live`, { after: last })}>
        <div id="live" class="task" hx-get={here} hx-trigger="sse:changed" hx-select="#live" hx-target="#live" hx-swap="morph:outerHTML" data-entry={last}>
          <Headline e={e} />
          <Answers e={e} />
          <TaskActions e={e} record={record} />
          <Steps e={e} record={record} />
          <div class="two">
            <Timeline e={e} record={record} />
            <div class="side">
              <Touches e={e} />
              <Receipts e={e} />
              <Cancels e={e} />
              <Proofs e={e} />
              <Links e={e} />
            </div>
          </div>
        </div>
      </div>
    </Shell>
  );
}
