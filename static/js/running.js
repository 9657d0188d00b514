// How a run is divided: which kernels fall back and why, and which run inside the launch of another.

/** @typedef {import("./wire.js").Kernel} Kernel */

/**
 * Why a result has no kernels, as a word: they come, or none is needed, or it ended before them.
 * @param {Pick<import("./wire.js").Result, "complete" | "state">} result
 */
export function whyNone({ complete, state }) {
  if (complete) return "kernel.none-needed";
  return state === "running" ? "code.soon" : "kernel.none";
}

/**
 * Kernels with those that run inside them right behind, and how deep each one lies.
 * @param {Kernel[]} kernels
 * @returns {{kernel: Kernel, depth: number}[]}
 */
export function nested(kernels) {
  /** @type {Map<number | null, Kernel[]>} */
  const within = new Map();
  const known = new Set(kernels.map((each) => each.kernel));
  for (const kernel of kernels) {
    // What lies inside a kernel that is not listed stands for itself.
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
 * The kernels that the reference runs, together where the reason is the same.
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
 * Ids of the nodes that the reference runs, with the reason of each.
 * @param {Kernel[]} kernels
 * @returns {Map<string, string>}
 */
export function fallbackNodes(kernels) {
  return new Map(kernels.filter((each) => !each.native).map(({ node, words }) => [node, words]));
}

/** More ONNX nodes than this are not named one by one. */
const NAMED = 3;

/**
 * What people know a kernel by: the ONNX nodes that it runs, when these are few.
 * @param {Kernel} kernel
 */
export function placeName({ origins, name }) {
  return origins.length > 0 && origins.length <= NAMED ? origins.join(" + ") : name;
}
