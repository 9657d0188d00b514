// Text of boxes: operators, types, and the content of closed groups.

/**
 * @typedef {import("../wire.js").GraphNode} GraphNode
 * @typedef {import("./scene.js").NodeStates} NodeStates
 */

/**
 * Return the operators of a closed group, most frequent first.
 * @param {string[]} ids
 * @param {NodeStates} states
 * @returns {string}
 */
export function operatorsOf(ids, states) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const id of ids) {
    const node = states.get(id)?.node;
    if (node?.kind === "node") counts.set(node.op, (counts.get(node.op) ?? 0) + 1);
  }
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .map(([op]) => op)
    .join(", ");
}

/** @param {GraphNode} node @returns {string} */
export function labelOf(node) {
  if (node.kind !== "node") return node.name;
  if (node.op !== "fusion") return node.op;
  // A fusion shows the operators of its body, in order.
  const inner = (node.regions.body?.nodes ?? [])
    .filter((each) => each.kind === "node")
    .map((each) => each.op);
  if (inner.length === 0) return node.op;
  return inner.length > 3 ? `${inner[0]} + ${inner.length - 1}` : inner.join(" + ");
}

/**
 * Return the first value that a node computes; its id may be the name of an earlier value.
 * @param {GraphNode} node
 * @returns {string}
 */
export function valueOf({ id, kind, name, outputs }) {
  return kind === "result" ? name : (outputs.find((output) => output !== "") ?? id);
}

/**
 * Return the name of a node among the nodes of all bodies: its value, or in a body its id.
 * @param {GraphNode} node
 * @returns {string}
 */
export function nameOf(node) {
  return node.inside ? node.id : valueOf(node);
}

/** @param {GraphNode} node @returns {string} type of its first output that is not omitted */
export function subOf({ outputs, types }) {
  const first = outputs.findIndex((output) => output !== "");
  return shortType(types[Math.max(0, first)] ?? "");
}

/**
 * Abbreviate a type: "f32[1,64,55,55]" becomes "1×64×55×55"; element types other than f32 and the
 * blocks of a layout "{c16,halo=1x1}" are kept.
 * @param {string} type
 * @returns {string}
 */
export function shortType(type) {
  const found = /^(\w+)\[([^\]]*)\](.*)$/.exec(type);
  if (!found) return type;
  const [, elements, dims, rest] = found;
  const shape = dims.split(",").join("×") || "scalar";
  const blocks = /\bc\d+/.exec(rest)?.[0] ?? "";
  return [elements === "f32" ? "" : elements, shape, blocks].filter(Boolean).join(" ");
}
