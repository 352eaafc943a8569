/** @jsxRuntime automatic @jsxImportSource preact */
/** What a person on call asks first: the answers are `explain`'s, word for word. */
import type { Explanation } from '../../client/explain/index.ts';
import { workflowIdOf } from '../../workflows/names.ts';
import { address } from '../address.ts';
import { useFrame } from '../frame.ts';
import { Code, Name, Pair, State, Time } from './words.tsx';

export function Headline({ e }: { readonly e: Explanation }) {
  const { m } = useFrame();
  const { task } = e;
  return (
    <header class="task-head">
      <p class="crumbs">
        <a href={address('/tasks')}>{m.tasks.title}</a> <span aria-hidden="true">/</span> <a href={address('/tasks', { type: task.type })}><Name>{task.type}</Name></a>
        <span class="quiet"> v{String(task.version)}</span>
      </p>
      <div class="headline">
        <State state={e.status} tone={e.tone} />
        <h1>{e.headline}</h1>
      </div>
      <dl class="ids">
        {task.key === null ? null : <Pair term={m.task.key}><Name>{task.key}</Name></Pair>}
        <Pair term={m.task.id}><Code>{task.id}</Code></Pair>
        <Pair term={m.task.accepted}><Time at={task.created_at} from={e.as_of} /> <span class="quiet">{m.task.by}</span> <Name>{task.created_by}</Name></Pair>
        {task.deadline_at === null ? null : <Pair term={m.task.deadline}><Time at={task.deadline_at} from={e.as_of} /></Pair>}
        {task.ended_at === null ? null : <Pair term={m.task.ended}><Time at={task.ended_at} from={e.as_of} /></Pair>}
        <Pair term={m.as_of}><Time at={e.as_of} /> {m.utc}</Pair>
      </dl>
    </header>
  );
}

export function Answers({ e }: { readonly e: Explanation }) {
  const { m } = useFrame();
  const { corrected } = e.reason;
  return (
    <section class="answers card" aria-label={m.task.again}>
      <div>
        <h2>{m.task.again}</h2>
        <p class="answer"><strong class={`said ${e.will_run_again.answer}`}>{m.task.answers[e.will_run_again.answer]}</strong></p>
        <p class="again">{e.will_run_again.sentence}</p>
        {e.blocked_on === null ? null : <p class="small"><span class="quiet">{m.task.blocked}</span> <Name>{e.blocked_on.step}</Name>: {e.blocked_on.sentence}</p>}
      </div>
      <div>
        <h2>{m.task.todo}</h2>
        <p class="todo">{e.next_action.sentence}</p>
        {e.also.map((one) => <p key={one.sentence} class="small">{one.sentence}</p>)}
      </div>
      <div>
        <h2>{m.task.why}</h2>
        <p class="reason">{e.reason.meaning}</p>
        <p class="small quiet"><Code>{e.reason.code}</Code> · {m.task.since} <Time at={e.since} from={e.as_of} /></p>
        {corrected === null ? null : <p class="small corrected"><strong>{m.task.corrected}</strong> {corrected.sentence}</p>}
      </div>
      <Driver e={e} />
    </section>
  );
}

function Driver({ e: { driver, task } }: { readonly e: Explanation }) {
  const { m, temporalUi } = useFrame();
  return (
    <div>
      <h2>{m.task.driver}</h2>
      <p>{driver.sentence}</p>
      <p class="small quiet">{driver.temporal.sentence}</p>
      {temporalUi === null ? null : <p class="small"><a href={workflowAddress(temporalUi, task.id, driver.temporal.run_id ?? driver.run_id)} rel="noreferrer">{m.task.temporal}</a></p>}
    </div>
  );
}

function workflowAddress({ url, namespace }: { readonly url: string; readonly namespace: string }, task: string, run: string | null): string {
  const path = ['namespaces', namespace, 'workflows', workflowIdOf(task), ...(run === null ? [] : [run, 'history'])].map(encodeURIComponent).join('/');
  return `${url.replace(/\/+$/, '')}/${path}`;
}
