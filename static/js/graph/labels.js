// What is written in boxes: operators, types, and what is in a closed group.

/**
 * @typedef {import("../wire.js").GraphNode} GraphNode
 * @typedef {import("./scene.js").NodeStates} NodeStates
 */

/**
 * What is in a closed group, the most frequent first.
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
  // A fusion says what it runs: the operators of its body, in order.
  const inner = (node.regions.body?.nodes ?? [])
    .filter((each) => each.kind === "node")
    .map((each) => each.op);
  if (inner.length === 0) return node.op;
  return inner.length > 3 ? `${inner[0]} + ${inner.length - 1}` : inner.join(" + ");
}

/** @param {GraphNode} node @returns {string} what its first output is */
export function subOf(node) {
  return shortType(node.types[0] ?? "");
}

/**
 * A type as short as a node needs it: "f32[1,64,55,55]" is "1×64×55×55", other elements are named,
 * of a layout "{c16,halo=1x1}" the blocks.
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
