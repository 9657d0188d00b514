// Compares any two stages: the base of comparison, and the changes between two graphs.

/**
 * @typedef {import("../wire.js").Stage} Stage
 * @typedef {import("../wire.js").StageGraph} StageGraph
 * @typedef {import("../wire.js").GraphNode} GraphNode
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
 * @returns {Map<string, "added" | "changed" | "refined">}
 */
export function marksOf({ added, changed, refined = [] }) {
  /** @type {Map<string, "added" | "changed" | "refined">} */
  const marks = new Map();
  for (const name of added) marks.set(name, "added");
  for (const name of changed) marks.set(name, "changed");
  for (const name of refined) marks.set(name, "refined");
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
  const old = new Map(before.nodes.map((node) => [node.id, node]));
  const now = new Map(graph.nodes.map((node) => [node.id, node]));
  const isRefined = (/** @type {string} */ id) => refines(asNode(old.get(id)), asNode(now.get(id)));
  return {
    ...graph,
    added: [...nodes.added, ...constants.added],
    changed: [...nodes.changed.filter((id) => !isRefined(id)), ...constants.changed],
    refined: nodes.changed.filter(isRefined),
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

/** @param {GraphNode | undefined} node of a graph that contains the id */
const asNode = (node) => /** @type {GraphNode} */ (node);

/**
 * Return whether two nodes differ only in their types, and the types of `now` are more precise.
 * @param {GraphNode} was
 * @param {GraphNode} now
 * @returns {boolean}
 */
function refines(was, now) {
  const [a, b] = [Object.values(was.regions), Object.values(now.regions)];
  return (
    said({ ...was, types: now.types, regions: {} }) === said({ ...now, regions: {} }) &&
    was.types.every((type, i) => isMorePrecise(type, now.types[i])) &&
    a.length === b.length &&
    a.every(({ nodes }, i) => nodes.length === b[i].nodes.length && nodes.every((node, k) => refines(node, b[i].nodes[k])))
  );
}

/**
 * Return whether a type is another type with numbers for open sizes, or a known rank for an open rank.
 * @param {string} was as in `f32[N,3]`; "..." for an open rank
 * @param {string} now
 */
function isMorePrecise(was, now) {
  if (was === now || was === "opaque") return true;
  const [a, b] = [was, now].map((type) => /^([^[]*)\[([^\]]*)\](.*)$/.exec(type));
  if (!a || !b || a[1] !== b[1] || a[3] !== b[3]) return false;
  const [old, dims] = [a[2].split(","), b[2].split(",")];
  if (a[2] === "...") return true;
  return old.length === dims.length && old.every((dim, i) => dim === dims[i] || !/^\d+$/.test(dim));
}
