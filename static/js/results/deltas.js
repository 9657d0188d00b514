// Builds a stage's graph from the previous graph and a delta: the counterpart of
// app/wire/deltas.py. Unchanged nodes are the same objects from graph to graph.

/**
 * @typedef {import("../wire.js").StageGraph} StageGraph
 * @typedef {import("../wire.js").StageDelta} StageDelta
 */

/** @type {Pick<StageGraph, "graph_stage" | "nodes" | "edges" | "constants">} */
const NOTHING = { graph_stage: -1, nodes: [], edges: [], constants: [] };

/**
 * @param {StageGraph | null} before null for the first graph
 * @param {StageDelta} delta
 * @returns {StageGraph}
 */
export function applyDelta(before, { against, nodes, edges, constants, ...rest }) {
  const old = before ?? NOTHING;
  if (old.graph_stage !== against)
    throw new Error(`the delta of stage ${rest.stage} applies to stage ${against}, not ${old.graph_stage}`);
  return {
    ...rest,
    nodes: join(old.nodes, nodes),
    edges: join(old.edges, edges),
    constants: join(old.constants, constants),
  };
}

/**
 * @template T
 * @param {T[]} old
 * @param {[start: number, end: number, items: T[]][]} pieces each piece: the old items from `start` to before `end`, then new items
 * @returns {T[]}
 */
export function join(old, pieces) {
  /** @type {T[]} */
  const made = [];
  for (const [start, end, items] of pieces) {
    for (let i = start; i < end; i++) made.push(old[i]);
    for (const item of items) made.push(item);
  }
  return made;
}
