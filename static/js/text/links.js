// Links between the lines of a kernel's texts: Loop IR, LLVM IR, assembly.

/** @typedef {import("../wire.js").KernelLinks} KernelLinks */

/** The texts whose lines are linked, from the top down. */
export const LINKED = /** @type {const} */ (["loops", "llvm", "asm"]);
/** @typedef {typeof LINKED[number]} Linked */

/**
 * Return whether the links, which are the last part of a job's result, are available.
 * @param {Pick<import("../state/page.js").Page, "result" | "ready">} page
 */
export function areLinked({ result, ready }) {
  return ready.includes("links") || (result?.state === "succeeded" && result.complete);
}

/**
 * Return the line of Loop IR that a line of another text implements.
 * @param {KernelLinks | null} links
 * @param {Linked} part
 * @param {number} line number of the line, from 0
 * @returns {number} -1 for none
 */
export function loopLine(links, part, line) {
  if (part === "loops") return line;
  if (!links) return -1;
  if (part === "llvm") return links.llvm[line] ?? -1;
  return links.llvm[links.asm[line] ?? -1] ?? -1;
}

/**
 * Return the lines of a text that implement a line of Loop IR.
 * @param {KernelLinks | null} links
 * @param {Linked} part
 * @param {number} loop line of Loop IR, from 0; -1 for none
 * @param {number} n lines of the text
 * @returns {Set<number>}
 */
export function linesFor(links, part, loop, n) {
  const found = new Set();
  if (loop < 0) return found;
  for (let i = 0; i < n; i++) if (loopLine(links, part, i) === loop) found.add(i);
  return found;
}
