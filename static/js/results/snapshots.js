// Compares any two stages: the base of comparison, and the changes between two graphs.

/**
 * @typedef {import("../wire.js").Stage} Stage
 * @typedef {import("../wire.js").StageGraph} StageGraph
 */

/**
 * Return the chosen base of comparison if this stage exists; links may name stages that do not exist.
 * @param {Stage[]} stages
 * @param {number} base
 * @returns {number} -1 for the previous stage
 */
export function chosenBase(stages, base) {
  return base >= 0 && base < stages.length ? base : -1;
}

/**
 * Return the base of comparison of a stage: the chosen stage, else the previous stage.
 * @param {Stage[]} stages
 * @param {number} stage
 * @param {number} base -1 for the previous stage
 * @returns {number} -1 for the first stage
 */
export function comparedWith(stages, stage, base) {
  const chosen = chosenBase(stages, base);
  return chosen < 0 ? stage - 1 : chosen;
}

/**
 * Return whether the graphs of a stage and its base differ.
 * @param {Stage[]} stages
 * @param {number} stage
 * @param {number} base
 */
export function differs(stages, stage, base) {
  const other = comparedWith(stages, stage, base);
  return other >= 0 && stages[stage]?.graph_stage !== stages[other].graph_stage;
}

/**
 * Return the marks of nodes and constants, by name; unchanged nodes and constants are absent.
 * @param {StageGraph} graph
 * @returns {Map<string, "added" | "changed">}
 */
export function marksOf({ added, changed }) {
  /** @type {Map<string, "added" | "changed">} */
  const marks = new Map();
  for (const name of added) marks.set(name, "added");
  for (const name of changed) marks.set(name, "changed");
  return marks;
}

/**
 * Return a graph with marks relative to another base.
 * @param {StageGraph} graph
 * @param {StageGraph} before
 * @returns {StageGraph}
 */
export function markedAgainst(graph, before) {
  const nodes = compared(before.nodes, graph.nodes, ({ id }) => id, said);
  const constants = compared(before.constants, graph.constants, ({ name }) => name, ({ type, text }) =>
    JSON.stringify([type, text]),
  );
  return {
    ...graph,
    added: [...nodes.added, ...constants.added],
    changed: [...nodes.changed, ...constants.changed],
    removed: [...nodes.removed, ...constants.removed],
  };
}

/**
 * @template T
 * @param {T[]} before
 * @param {T[]} after
 * @param {(item: T) => string} nameOf
 * @param {(item: T) => string} saidOf equal for equal items of one name
 */
function compared(before, after, nameOf, saidOf) {
  const old = new Map(before.map((item) => [nameOf(item), item]));
  /** @type {{added: string[], changed: string[], removed: string[]}} */
  const found = { added: [], changed: [], removed: [] };
  for (const item of after) {
    const name = nameOf(item);
    const was = old.get(name);
    if (was === undefined) found.added.push(name);
    // Graphs of one job share unchanged objects.
    else if (was !== item && saidOf(was) !== saidOf(item)) found.changed.push(name);
    old.delete(name);
  }
  found.removed = [...old.keys()];
  return found;
}

/** @param {import("../wire.js").GraphNode} node */
function said({ op, name, outputs, types, inputs, attrs, origins, regions }) {
  return JSON.stringify([op, name, outputs, types, inputs, attrs, origins, Object.values(regions).map(inside)]);
}

/** @param {{nodes: import("../wire.js").GraphNode[]}} region @returns {unknown} */
function inside({ nodes }) {
  return nodes.map((node) => [node.id, said(node)]);
}
