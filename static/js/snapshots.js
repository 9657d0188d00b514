// Any two stages against each other: which they are, and what of one graph is new against another.

/**
 * @typedef {import("./wire.js").Stage} Stage
 * @typedef {import("./wire.js").StageGraph} StageGraph
 */

/**
 * The stage that was chosen to compare with, if there is such a stage: links may name others.
 * @param {Stage[]} stages
 * @param {number} base
 * @returns {number} -1 for the one before
 */
export function chosenBase(stages, base) {
  return base >= 0 && base < stages.length ? base : -1;
}

/**
 * The stage that a stage is compared with: the chosen one, else the one before.
 * @param {Stage[]} stages
 * @param {number} stage
 * @param {number} base -1 for the one before
 * @returns {number} -1 before the first
 */
export function comparedWith(stages, stage, base) {
  const chosen = chosenBase(stages, base);
  return chosen < 0 ? stage - 1 : chosen;
}

/**
 * Whether the graphs of the two differ.
 * @param {Stage[]} stages
 * @param {number} stage
 * @param {number} base
 */
export function differs(stages, stage, base) {
  const other = comparedWith(stages, stage, base);
  return other >= 0 && stages[stage]?.graph_stage !== stages[other].graph_stage;
}

/**
 * A graph with its marks made anew, against another than the one before it.
 * @param {StageGraph} graph
 * @param {StageGraph} before
 * @returns {StageGraph}
 */
export function markedAgainst(graph, before) {
  const old = new Map(before.nodes.map((node) => [node.id, said(node)]));
  const now = new Set(graph.nodes.map((node) => node.id));
  const constants = new Map(before.constants.map((each) => [each.name, each]));
  const kept = new Set(graph.constants.map((each) => each.name));
  return {
    ...graph,
    nodes: graph.nodes.map((node) => ({
      ...node,
      mark: !old.has(node.id) ? "added" : old.get(node.id) === said(node) ? "" : "changed",
    })),
    constants: graph.constants.map((each) => {
      const was = constants.get(each.name);
      const same = was && was.type === each.type && was.text === each.text;
      return { ...each, mark: was === undefined ? "added" : same ? "" : "changed" };
    }),
    removed: [...old.keys()].filter((id) => !now.has(id)),
    removed_constants: [...constants.keys()].filter((name) => !kept.has(name)),
  };
}

/** @param {import("./wire.js").GraphNode} node */
function said({ op, name, outputs, types, inputs, attrs, origins, regions }) {
  return JSON.stringify([op, name, outputs, types, inputs, attrs, origins, Object.values(regions).map(inside)]);
}

/** @param {{nodes: import("./wire.js").GraphNode[]}} region @returns {unknown} */
function inside({ nodes }) {
  return nodes.map((node) => [node.id, said(node)]);
}
