// The selection shared by all panes: a set of ONNX nodes, mapped to each level.
import { valuesOf } from "../results/levels.js";

/**
 * @typedef {import("../wire.js").GraphNode} GraphNode
 * @typedef {import("../wire.js").Kernel} Kernel
 * @typedef {import("../wire.js").Result} Result
 * @typedef {import("../wire.js").Provenance} Provenance
 * @typedef {{selection: string[], at: string}} Selected
 */

/** The toggled folds after a new selection: none. @type {string[]} */
const NONE = [];

/**
 * Return the ids of the nodes that come from the selected ONNX nodes, and of the node in focus.
 * @param {Iterable<GraphNode>} nodes
 * @param {Selected} selected
 * @returns {Set<string>}
 */
export function selectedIds(nodes, { selection, at }) {
  const origins = new Set(selection);
  /** @type {Set<string>} */
  const ids = new Set();
  if (origins.size === 0 && at === "") return ids;
  for (const node of nodes) {
    if (node.id === at || node.origins.some((origin) => origins.has(origin))) ids.add(node.id);
  }
  return ids;
}

/**
 * @param {Result | null} result
 * @param {string[]} selection
 * @returns {Kernel[]}
 */
export function selectedKernels(result, selection) {
  const origins = new Set(selection);
  return (result?.kernels ?? []).filter((kernel) =>
    kernel.origins.some((origin) => origins.has(origin)),
  );
}

/**
 * @param {Provenance | null} provenance
 * @param {string[]} selection
 * @returns {Set<number>} indices of buffers
 */
export function selectedBuffers(provenance, selection) {
  const origins = new Set(selection);
  const found = (provenance?.onnx ?? []).filter((each) => origins.has(each.name));
  return new Set(found.flatMap((each) => each.buffers));
}

/**
 * Return the kernel whose code is shown: the chosen kernel, else the kernel of the node in focus, else the
 * slowest kernel of the selection, else none.
 * @param {Result | null} result
 * @param {{kernel: number} & Selected} place
 * @returns {Kernel | null}
 */
export function shownKernel(result, { kernel, selection, at }) {
  const chosen = result?.kernels.find((each) => each.kernel === kernel);
  const candidates = selectedKernels(result, selection);
  return chosen ?? candidates.find((each) => each.node === at) ?? longest(candidates);
}

/**
 * Return the slowest native kernel, or the slowest kernel if none is native. Equal or missing times: most work.
 * @param {Kernel[]} kernels
 * @returns {Kernel | null}
 */
export function longest(kernels) {
  const native = kernels.filter((each) => each.native);
  const order = (/** @type {Kernel} */ a, /** @type {Kernel} */ b) =>
    (b.median_s ?? 0) - (a.median_s ?? 0) || b.flops - a.flops;
  return [...(native.length ? native : kernels)].sort(order)[0] ?? null;
}

/**
 * Return the state change that selects a node.
 * @param {GraphNode} node
 * @returns {Selected & {kernel: number, line: string, edge: string, unfolded: string[]}}
 */
export function selectNode(node) {
  return { selection: node.origins, at: node.id, kernel: -1, line: "", edge: "", unfolded: NONE };
}

/**
 * Return the state change that selects a kernel.
 * @param {Kernel} kernel
 * @returns {Selected & {kernel: number, line: string, edge: string, unfolded: string[]}}
 */
export function selectKernel(kernel) {
  return { selection: kernel.origins, at: kernel.node, kernel: kernel.kernel, line: "", edge: "", unfolded: NONE };
}

/**
 * Return the state change that selects values of a step or buffer, by the nodes that define them in the
 * given graphs.
 * @param {(import("../wire.js").StageGraph | null)[]} graphs the first graph that contains a value decides
 * @param {string[]} values
 * @returns {Selected & {kernel: number, line: string, edge: string, unfolded: string[]}}
 */
export function selectValues(graphs, values) {
  /** @type {Set<string>} */
  const origins = new Set();
  let at = "";
  for (const value of values) {
    for (const graph of graphs) {
      const node = graph?.nodes.find((each) => valuesOf(each).includes(value));
      const constant = graph?.constants.find((each) => each.name === value);
      if (!node && !constant) continue;
      at ||= node?.id ?? "";
      for (const origin of (node ?? constant)?.origins ?? []) origins.add(origin);
      break;
    }
  }
  return { selection: [...origins], at, kernel: -1, line: "", edge: "", unfolded: NONE };
}

export const NOTHING = { selection: /** @type {string[]} */ ([]), at: "", kernel: -1, line: "", edge: "", unfolded: NONE };
