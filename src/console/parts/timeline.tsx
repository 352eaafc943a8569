/** @jsxRuntime automatic @jsxImportSource preact */
/** The story in order: who, why, attempt, stage; each entry opens to its facts. */
import type { Explanation } from '../../client/explain/index.ts';
import { PHRASES } from '../../client/explain/reading.ts';
import { actionAddress } from '../address.ts';
import { mayHere, useFrame } from '../frame.ts';
import { moment } from '../time.ts';
import type { TaskRecord, TimelineRow } from '../types.ts';
import { Code, Name, toneOf } from './words.tsx';

/** Of one entry's facts; the record has the rest. */
const FACTS_CHARS_MAX = 6_000;

export function Timeline({ e, record }: { readonly e: Explanation; readonly record: TaskRecord }) {
  const { m } = useFrame();
  const rows = new Map(record.timeline.map((row) => [row.id, row]));
  return (
    <section class="story card" aria-labelledby="story">
      <h2 id="story">{m.task.story}</h2>
      {e.story_left_out === 0 ? null : <p class="notice">{m.task.left_out(e.story_left_out)}</p>}
      <ol>{e.story.map((line) => <Entry key={line.id} task={e.task.id} line={line} row={rows.get(line.id)} />)}</ol>
    </section>
  );
}

function Entry({ task, line, row }: { readonly task: string; readonly line: Explanation['story'][number]; readonly row: TimelineRow | undefined }) {
  const frame = useFrame();
  const { m, lang } = frame;
  const tone = row === undefined || row.to_state === '-' || row.kind === 'parent' ? 'plain' : toneOf(row.to_state);
  const { stages } = PHRASES[lang];
  return (
    <li id={`entry-${String(line.id)}`} class={`entry ${tone} ${line.kind}`}>
      <time dateTime={line.at} title={`${moment(line.at)} ${m.utc}`}>{line.at.slice(11, 19)}<span class="ms">{line.at.slice(19, 23)}</span></time>
      <div class="entry-body">
        <p class="entry-sentence">{line.sentence}</p>
        <details>
          <summary class="entry-by">
            <Name>{line.who}</Name>
            {line.attempt === null ? null : <span> · {m.task.attempt(line.attempt)}</span>}
            {line.stage === null ? null : <span> · {stages[line.stage]}</span>}
            {line.manual ? <strong class="manual"> · {m.task.manual}</strong> : null}
            <span class="away"> {m.task.facts}</span>
          </summary>
          {row === undefined ? null : <Facts row={row} />}
          {mayHere(frame, 'correct') ? <p class="small"><a href={actionAddress(task, 'correct', { entry: line.id })}>{m.actions.correct}<span class="away"> {m.task.entry} {line.id}</span></a></p> : null}
        </details>
        {line.corrections.map((one) => <p key={one.id} class="corrected"><strong>{m.task.corrected}</strong> {one.sentence}</p>)}
      </div>
    </li>
  );
}

function Facts({ row }: { readonly row: TimelineRow }) {
  const { m } = useFrame();
  const text = JSON.stringify(row.facts, null, 2);
  const said: readonly (readonly [string, string | null])[] = [
    [m.task.entry, String(row.id)], [m.task.event, row.event], [m.task.rule, row.rule], [m.task.edge, row.to_state === '-' ? null : `${row.from_state} → ${row.to_state}`], [m.task.reason, row.reason],
    [m.task.epoch, row.epoch === null ? null : String(row.epoch)],
  ];
  return (
    <div class="entry-facts">
      <dl class="facts">{said.map(([term, value]) => (value === null ? null : <><dt>{term}</dt><dd><Code>{value}</Code></dd></>))}</dl>
      {text === '{}' ? null : <pre tabIndex={0}><bdi>{text.slice(0, FACTS_CHARS_MAX)}</bdi></pre>}
      {text.length > FACTS_CHARS_MAX ? <p class="quiet small">{m.task.cut(text.length - FACTS_CHARS_MAX)}</p> : null}
    </div>
  );
}
