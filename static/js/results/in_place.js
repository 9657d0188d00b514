// Nodes without a kernel, whose value lies in the memory of their operands: views, and concatenations in place.

/**
 * Return how the value of a node arises without a kernel: "parts" if several operands are written directly into parts of
 * its buffer, "view" if it is another view of one operand, "" if its buffer holds none of its operands.
 * @param {Pick<import("../wire.js").GraphNode, "inputs" | "outputs">} node
 * @param {Pick<import("../wire.js").Buffer, "values">[]} buffers
 * @returns {"parts" | "view" | ""}
 */
export function inPlace({ inputs, outputs }, buffers) {
  const held = buffers.find(({ values }) => outputs.some((each) => values.includes(each)));
  const n = new Set(inputs.filter((each) => held?.values.includes(each))).size;
  return n > 1 ? "parts" : n === 1 ? "view" : "";
}
