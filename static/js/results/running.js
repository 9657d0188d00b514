// Partition of a run: fallback kernels with reasons, and kernels inside the launches of other kernels.

/** @typedef {import("../wire.js").Kernel} Kernel */

/**
 * Return the key of the words that explain a result without kernels: pending, not needed, or stopped earlier.
 * @param {Pick<import("../wire.js").Result, "complete" | "state">} result
 */
export function whyNone({ complete, state }) {
  if (complete) return "kernel.none-needed";
  return state === "running" ? "code.soon" : "kernel.none";
}

/**
 * Return kernels with their depth in depth-first order: a kernel precedes the kernels inside its launch.
 * @param {Kernel[]} kernels
 * @returns {{kernel: Kernel, depth: number}[]}
 */
export function nested(kernels) {
  /** @type {Map<number | null, Kernel[]>} */
  const within = new Map();
  const known = new Set(kernels.map((each) => each.kernel));
  for (const kernel of kernels) {
    // A kernel inside an unlisted kernel counts as top level.
    const around = kernel.inside !== null && known.has(kernel.inside) ? kernel.inside : null;
    within.set(around, [...(within.get(around) ?? []), kernel]);
  }
  /** @type {(around: number | null, depth: number) => {kernel: Kernel, depth: number}[]} */
  const below = (around, depth) =>
    (within.get(around) ?? []).flatMap((kernel) => [
      { kernel, depth },
      ...below(kernel.kernel, depth + 1),
    ]);
  return below(null, 0);
}

/**
 * Return fallback kernels, grouped by reason.
 * @param {Kernel[]} kernels
 * @returns {{because: string, kernels: Kernel[]}[]}
 */
export function fallbacksByReason(kernels) {
  /** @type {Map<string, Kernel[]>} */
  const found = new Map();
  for (const kernel of kernels)
    if (!kernel.native) found.set(kernel.words, [...(found.get(kernel.words) ?? []), kernel]);
  return [...found].map(([because, those]) => ({ because, kernels: those }));
}

/**
 * Return the ids of fallback nodes, each with its reason.
 * @param {Kernel[]} kernels
 * @returns {Map<string, string>}
 */
export function fallbackNodes(kernels) {
  return new Map(kernels.filter((each) => !each.native).map(({ node, words }) => [node, words]));
}

/** Maximum number of ONNX nodes to name. */
const NAMED = 3;

/**
 * Return the readable name of a kernel: the names of its ONNX nodes, if they are few.
 * @param {Kernel} kernel
 */
export function placeName({ origins, name }) {
  return origins.length > 0 && origins.length <= NAMED ? origins.join(" + ") : name;
}
