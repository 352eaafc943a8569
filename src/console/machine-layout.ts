/** Where the states of a step and the edges between them stand on paper. Laid out once: the table does not change while a process runs. */
import dagre from '@dagrejs/dagre';
import { edgesOf, RULES, STEP_STATES } from '../state/index.ts';
import type { StepState } from '../state/index.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** What of the library is used here; its own types name files in a way that this project's resolution can't follow. */
interface Graph {
  setGraph(label: Readonly<Record<string, string | number>>): void;
  setDefaultEdgeLabel(label: () => object): void;
  setNode(name: string, label: { width: number; height: number }): void;
  setEdge(from: string, to: string): void;
  node(name: string): Point;
  edge(from: string, to: string): { readonly points: readonly Point[] };
  edges(): readonly { readonly v: string; readonly w: string }[];
}
const { graphlib, layout } = dagre as unknown as { readonly graphlib: { readonly Graph: new () => Graph }; readonly layout: (graph: Graph) => void };

export interface Drawing {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly nodes: ReadonlyMap<StepState, Point>;
  /** By `from/to`: the points that the line passes, the last one at the arrow's head. */
  readonly edges: ReadonlyMap<string, readonly Point[]>;
}

export const NODE = { width: 116, height: 34 } as const;
const MARGIN = 14;

export const edgeName = (from: string, to: string): string => `${from}/${to}`;

function draw(): Drawing {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 16, ranksep: 46, edgesep: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const state of STEP_STATES) graph.setNode(state, { ...NODE });
  for (const rule of RULES) {
    for (const from of rule.from) {
      for (const edge of edgesOf(rule, from)) if (edge.from !== 'none' && edge.from !== edge.to) graph.setEdge(edge.from, edge.to);
    }
  }
  layout(graph);
  // Lines may bend beyond the box of the nodes.
  const points = [
    ...STEP_STATES.flatMap((state) => [-1, 1].map((side) => ({ x: graph.node(state).x + (side * NODE.width) / 2, y: graph.node(state).y + (side * NODE.height) / 2 }))),
    ...graph.edges().flatMap(({ v, w }) => graph.edge(v, w).points),
  ];
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const [left, top] = [Math.floor(Math.min(...xs)) - MARGIN, Math.floor(Math.min(...ys)) - MARGIN];
  return {
    left, top, width: Math.ceil(Math.max(...xs)) + MARGIN - left, height: Math.ceil(Math.max(...ys)) + MARGIN - top,
    nodes: new Map(STEP_STATES.map((state) => {
      const { x, y } = graph.node(state);
      return [state, { x, y }];
    })),
    edges: new Map(graph.edges().map(({ v, w }) => [edgeName(v, w), graph.edge(v, w).points])),
  };
}

let drawn: Drawing | undefined;
export const machineDrawing = (): Drawing => (drawn ??= draw());
