/** @jsxRuntime automatic @jsxImportSource preact */
/** The state machine as the table has it, and the way that a step took through it. */
import { curveBasis, line } from 'd3-shape';
import { PHRASES } from '../../client/explain/reading.ts';
import { STEP_STATES } from '../../state/index.ts';
import type { StepState } from '../../state/index.ts';
import { useFrame } from '../frame.ts';
import { edgeName, machineDrawing, NODE } from '../machine-layout.ts';
import type { Point } from '../machine-layout.ts';
import type { TaskRecord } from '../types.ts';
import { toneOf } from './words.tsx';

const through = line<Point>((point) => point.x, (point) => point.y).curve(curveBasis);
const straight = line<Point>((point) => point.x, (point) => point.y);

export function Machine({ step, record }: { readonly step: string; readonly record: TaskRecord }) {
  const { m, lang } = useFrame();
  const { left, top, width, height, nodes, edges } = machineDrawing();
  const words = PHRASES[lang].states;
  const moves = record.timeline.filter((row) => row.step === step && row.kind === 'transition' && row.to_state !== '-' && row.from_state !== row.to_state);
  const visited = new Set(moves.flatMap(({ from_state: from, to_state: to }) => [from, to]));
  const now = record.steps.find(({ name }) => name === step)?.state;
  /** In which turns each edge was taken. */
  const taken = new Map<string, number[]>();
  moves.forEach((row, index) => {
    const name = edgeName(row.from_state, row.to_state);
    taken.set(name, [...(taken.get(name) ?? []), index]);
  });
  const path = [...moves.flatMap(({ to_state: to }) => words[to as StepState])];
  /** By hand, past the table. */
  const foreign = [...taken.keys()].filter((name) => !edges.has(name) && !name.startsWith('none/'));
  return (
    <div class="machine" tabIndex={0} role="group" aria-label={m.task.machine_of(step)}>
      <svg viewBox={[left, top, width, height].join(' ')} width={width} height={height} role="img" aria-label={m.task.path(path.slice(-30).join(' → '))}>
        {[...edges].filter(([name]) => !taken.has(name)).map(([name, points]) => <path key={name} class="edge" d={through(points) ?? ''} />)}
        {[...edges].filter(([name]) => taken.has(name)).map(([name, points]) => <Taken key={name} points={points} turns={taken.get(name) ?? []} d={through(points) ?? ''} />)}
        {foreign.map((name) => {
          const [from, to] = name.split('/').map((state) => nodes.get(state as StepState));
          return from === undefined || to === undefined ? null : <path key={name} class="edge taken foreign" d={straight([from, to]) ?? ''} />;
        })}
        {STEP_STATES.map((state) => {
          const { x, y } = nodes.get(state) ?? { x: 0, y: 0 };
          return (
            <g key={state} class={`node ${visited.has(state) ? `visited ${toneOf(state)}` : ''} ${state === now ? 'now' : ''}`}>
              <rect x={x - NODE.width / 2} y={y - NODE.height / 2} width={NODE.width} height={NODE.height} rx="8" />
              <text x={x} y={y + 4} text-anchor="middle">{words[state].length > 17 ? `${words[state].slice(0, 16)}…` : words[state]}</text>
              <title>{state}</title>
            </g>
          );
        })}
      </svg>
      <p class="small quiet">{m.task.path(path.join(' → '))}</p>
    </div>
  );
}

/** An edge of the path: which turns took it, and where to. */
function Taken({ points, turns, d }: { readonly points: readonly Point[]; readonly turns: readonly number[]; readonly d: string }) {
  const [before, head] = [points.at(-2), points.at(-1)];
  const middle = points[Math.floor(points.length / 2)];
  if (before === undefined || head === undefined || middle === undefined) return null;
  const turn = Math.atan2(head.y - before.y, head.x - before.x) * (180 / Math.PI);
  return (
    <g class="taken">
      <path class="edge taken" d={d} />
      <path class="head" d="M0 0 L-9 -4.5 L-9 4.5 Z" transform={`translate(${head.x.toFixed(1)} ${head.y.toFixed(1)}) rotate(${turn.toFixed(1)})`} />
      <text class="turn" x={middle.x} y={middle.y - 4} text-anchor="middle">{turns.slice(0, 3).map((each) => String(each)).join(', ')}{turns.length > 3 ? '…' : ''}</text>
    </g>
  );
}
