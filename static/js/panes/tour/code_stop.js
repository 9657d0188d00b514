// The stop about code: the slowest kernel, its loops and its instructions.
import { formatFlops, formatPercent, formatSeconds } from "../../text/format.js";
import { isUndisturbed } from "../../results/disturbance.js";
import { longest, selectKernel } from "../../state/selection.js";
import { lastChanged } from "../../results/stages.js";
import { counted, numbered } from "./said.js";

/**
 * @typedef {import("./said.js").Said} Said
 * @typedef {import("./stops.js").Facts} Facts
 * @typedef {import("../../wire.js").Kernel} Kernel
 * @typedef {import("../../wire.js").KernelText} KernelText
 */

/** @param {Facts} facts @returns {Omit<import("./stops.js").Stop, "id">} */
export function codeStop({ result, loops, asm }) {
  const { kernels, state, stages, run } = result;
  const stage = lastChanged(stages);
  const kernel = longest(kernels);
  if (!kernel)
    return { applies: false, move: { stage }, says: [[state === "running" ? "tour.soon" : "tour.no-kernels"]] };
  const move = { stage, ...selectKernel(kernel) };
  if (!kernel.native)
    return {
      applies: false,
      move: { ...move, pane: "kernels" },
      says: [["tour.no-native", { kernel: kernel.name, why: kernel.words }]],
    };
  return {
    applies: true,
    move: { ...move, pane: "stack" },
    says: [
      ...weight(kernel, kernels),
      ...(kernel.median_s !== null && run && !isUndisturbed(run.disturbance) ? /** @type {Said[]} */ ([["tour.kernels-disturbed"]]) : []),
      ...nest(loops),
      ...listing(asm, result.host.name),
      ...(kernel.bound ? /** @type {Said[]} */ ([["tour.bound", { bound: [`bound.${kernel.bound}`] }]]) : []),
      ["tour.see-code"],
    ],
  };
}

/** @param {Kernel} kernel @param {Kernel[]} kernels @returns {Said[]} */
function weight({ name, median_s: seconds, flops }, kernels) {
  if (kernels.length === 1) return [["tour.kernel-only", { kernel: name }]];
  if (seconds === null) return [["tour.kernel-untimed", { kernel: name, work: formatFlops(flops) }]];
  const total = kernels.reduce((sum, each) => sum + (each.median_s ?? 0), 0);
  return [["tour.kernel-slowest", {
    kernel: name,
    time: formatSeconds(seconds),
    share: formatPercent(total ? seconds / total : 1),
  }]];
}

/** @param {KernelText | null} loops @returns {Said[]} */
function nest(loops) {
  if (!loops || loops.cut) return [];
  const kinds = kindsOfLoops(loops.text);
  const all = [...kinds.values()].reduce((sum, n) => sum + n, 0);
  if (all === 0) return [];
  return [
    ["tour.loops", { loops: counted("tour.n-loops", all) }],
    kinds.get("vector")
      ? ["tour.vectors", numbered(kinds.get("vector") ?? 0)]
      : ["tour.no-vectors"],
  ];
}

/** @param {KernelText | null} asm @param {string} host @returns {Said[]} */
function listing(asm, host) {
  if (!asm || asm.cut) return [];
  const n = countInstructions(asm.text);
  return n ? [["tour.instructions", { ...numbered(n), host }]] : [];
}

/**
 * Return the number of loops of each kind in the text of Loop IR: `for`, `unroll`, `vector`, `parallel`.
 * @param {string} text
 * @returns {Map<string, number>}
 */
export function kindsOfLoops(text) {
  /** @type {Map<string, number>} */
  const kinds = new Map();
  for (const [, kind] of text.matchAll(/^\s*(for|unroll|vector|parallel) \w+ in /gm))
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  return kinds;
}

/**
 * Return the number of instructions in a listing: lines that are neither labels, directives nor comments.
 * @param {string} text
 */
export function countInstructions(text) {
  return text.split("\n").filter((line) => /^\s+[a-z]/.test(line)).length;
}
