// Nodes inside bodies of control flow: ids of their values, the body around a node, and operands. A node in
// a body has the names of the body's values, and an id that also names the body.

/**
 * @typedef {import("../wire.js").GraphConstant} GraphConstant
 * @typedef {import("../wire.js").GraphNode} GraphNode
 * @typedef {import("../wire.js").StageGraph} StageGraph
 *
 * @typedef {object} Operand
 * @property {string} name "" for an omitted operand
 * @property {GraphNode | null} maker
 * @property {GraphConstant | null} constant
 */

/**
 * Return the id of a node, and the ids of the values that it defines: outside all bodies their names.
 * @param {Pick<GraphNode, "id" | "outputs" | "inside">} node
 * @returns {string[]}
 */
export function valuesOf({ id, outputs, inside }) {
  const names = outputs.filter(Boolean);
  const start = inside && names.length ? id.slice(0, id.length - names[0].length) : "";
  return [...new Set([id, ...names.map((each) => start + each)])];
}

/**
 * Return whether a node defines one of some values.
 * @param {GraphNode} node
 * @param {Set<string>} values ids
 */
export function definesAny(node, values) {
  return valuesOf(node).some((value) => values.has(value));
}

/**
 * Return the operands of a node, with their definitions at the level of the node or around it.
 * @param {GraphNode} node
 * @param {StageGraph} graph
 * @param {readonly StageGraph["edges"][number][]} edges that end at the node
 * @returns {Operand[]}
 */
export function operandsOf(node, graph, edges) {
  const byId = new Map(graph.nodes.map((each) => [each.id, each]));
  const constants = graph.constants.filter(({ readers }) => readers.includes(node.id));
  return node.inputs.map((name, i) => {
    const edge = edges.find(([, to, operand]) => to === node.id && operand === i);
    const constant = constants.find((each) => (each.value ?? each.name) === name);
    return { name, maker: byId.get(edge?.[0] ?? "") ?? null, constant: (!edge && constant) || null };
  });
}

/**
 * Return the nodes of the bodies of a control-flow node, by region.
 * @param {GraphNode} node
 * @param {StageGraph} graph
 * @returns {Map<string, GraphNode[]>}
 */
export function bodiesOf({ id }, graph) {
  /** @type {Map<string, GraphNode[]>} */
  const bodies = new Map();
  for (const each of graph.nodes)
    if (each.inside?.[0] === id) bodies.set(each.inside[1], [...(bodies.get(each.inside[1]) ?? []), each]);
  return bodies;
}
