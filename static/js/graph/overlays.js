// Colour overlays, which colour nodes by a property other than the family: cost of their kernels, type,
// layout, error or device. Pure functions; the theme defines the colours of classes.
import { formatBytes, formatError, formatFlops, formatSeconds } from "../text/format.js";

/**
 * @typedef {import("../wire.js").GraphNode} GraphNode
 * @typedef {import("../wire.js").Kernel} Kernel
 * @typedef {import("./scene.js").SceneNode} SceneNode
 *
 * @typedef {object} Overlay
 * @property {"heat" | "hue"} scale scale of the colours: from high to low, or a hue for each kind
 * @property {{label: string, n: number}[]} classes in the order of the scale
 * @property {Map<string, number>} classOf class by key of a drawn node; nodes without data are absent
 * @property {Map<string, string>} says the value of a drawn node, in words
 */

export const OVERLAYS = /** @type {const} */ ([
  "family",
  "time",
  "flops",
  "bytes",
  "dtype",
  "layout",
  "error",
  "device",
]);
/** @typedef {typeof OVERLAYS[number]} OverlayName */

/** Lower ends of the classes, as shares of the largest value. */
const SHARES = [0.5, 0.2, 0.05, 0.01, 0];
/** Maximum number of kinds with separate colours; further kinds share the last colour. */
export const MOST_KINDS = 7;

/** @type {Record<string, {of: (kernel: Kernel) => number, format: (value: number) => string}>} */
const COSTS = {
  time: { of: (kernel) => kernel.median_s ?? kernel.predicted_s ?? 0, format: formatSeconds },
  flops: { of: (kernel) => kernel.flops, format: formatFlops },
  bytes: { of: (kernel) => kernel.bytes_read + kernel.bytes_written, format: formatBytes },
};

/**
 * Return the overlay of the shown nodes.
 * @param {OverlayName} name
 * @param {SceneNode[]} shown open groups have a sum but no colour
 * @param {Map<string, GraphNode>} nodes by id, of both graphs
 * @param {Kernel[]} kernels
 * @param {{less: string, other: string, plain: string}} words
 * @param {import("../wire.js").CheckedValues | null} [checked] of the stage
 * @param {import("../wire.js").Placement | null} [placement] devices of the kernels
 * @returns {Overlay | null} null if nodes are coloured by family
 */
export function overlayOf(name, shown, nodes, kernels, words, checked = null, placement = null) {
  if (name === "family") return null;
  if (name === "error") return byError(shown, checked, words.less);
  if (name === "device") return byDevice(shown, nodes, placement, words.other);
  if (name === "dtype" || name === "layout") {
    const kindOf = name === "dtype" ? elements : layoutIn(words.plain);
    const kindsOf = (/** @type {string} */ id) => (nodes.get(id)?.types.slice(0, 1) ?? []).map(kindOf);
    return byKind(shown, kindsOf, words.other);
  }
  return byCost(shown, nodes, kernels, name, words.less);
}

/**
 * Colour by cost: a node has the cost of all kernels from its ONNX nodes; a closed group has the cost of
 * all kernels of its nodes. Each kernel counts once.
 * @param {SceneNode[]} shown
 * @param {Map<string, GraphNode>} nodes
 * @param {Kernel[]} kernels
 * @param {string} name of the cost
 * @param {string} less
 * @returns {Overlay}
 */
function byCost(shown, nodes, kernels, name, less) {
  const cost = COSTS[name];
  const find = kernelsOf(kernels);
  /** @type {Map<string, number>} */
  const values = new Map();
  /** @type {Map<string, string>} */
  const says = new Map();
  for (const { key, ids, open } of shown) {
    const found = new Set(ids.flatMap((id) => find(nodes.get(id))));
    if (found.size === 0) continue;
    // The time of a launch includes the kernels inside it.
    const launched = new Set([...found].map(({ kernel }) => kernel));
    const counted = name === "time" ? [...found].filter(({ inside }) => !launched.has(inside ?? -1)) : [...found];
    const sum = counted.reduce((all, kernel) => all + cost.of(kernel), 0);
    says.set(key, cost.format(sum));
    if (!open) values.set(key, sum);
  }
  const most = Math.max(0, ...values.values());
  const classes = SHARES.map((share) => ({
    label: share > 0 ? `≥ ${cost.format(share * most)}` : less,
    n: 0,
  }));
  /** @type {Overlay} */
  const overlay = { scale: "heat", classes, classOf: new Map(), says };
  for (const [key, value] of values) {
    const found = most > 0 ? SHARES.findIndex((share) => value >= share * most) : SHARES.length - 1;
    overlay.classOf.set(key, found);
    classes[found].n += 1;
  }
  return overlay;
}

/** Lower ends of the classes, as shares of the tolerance; errors beyond the tolerance have the warmest colour. */
const ERROR_SHARES = [1, 0.1, 0.01, 0.001, 0];

/**
 * Colour by error: a node has the error of its worst value; a closed group has the error of its worst node.
 * @param {SceneNode[]} shown
 * @param {import("../wire.js").CheckedValues | null} checked
 * @param {string} less
 * @returns {Overlay}
 */
function byError(shown, checked, less) {
  const tolerance = checked?.tolerance ?? 1;
  const classes = ERROR_SHARES.map((share) => ({
    label: share > 0 ? `> ${formatError(share * tolerance)}` : less,
    n: 0,
  }));
  /** @type {Map<string, number>} */
  const errors = new Map();
  for (const { node, relative_error } of checked?.values ?? [])
    errors.set(node, Math.max(errors.get(node) ?? 0, relative_error ?? Infinity));
  /** @type {Overlay} */
  const overlay = { scale: "heat", classes, classOf: new Map(), says: new Map() };
  for (const { key, ids, open } of shown) {
    const found = ids.map((id) => errors.get(id)).filter((error) => error !== undefined);
    if (found.length === 0) continue;
    const worst = Math.max(...found);
    overlay.says.set(key, formatError(Number.isFinite(worst) ? worst : null));
    if (open) continue;
    const at = ERROR_SHARES.findIndex((share) => share === 0 || worst > share * tolerance);
    overlay.classOf.set(key, at);
    classes[at].n += 1;
  }
  return overlay;
}

/**
 * Colour by device: a node has the device of its kernels; of several devices, the device with most kernels.
 * @param {SceneNode[]} shown
 * @param {Map<string, GraphNode>} nodes
 * @param {import("../wire.js").Placement | null} placement
 * @param {string} other
 * @returns {Overlay}
 */
function byDevice(shown, nodes, placement, other) {
  const find = kernelsOf((placement?.tasks ?? []).map((task) => ({ ...task, node: task.task })));
  const devicesOf = (/** @type {string} */ id) => find(nodes.get(id)).map(({ device }) => device);
  const overlay = byKind(shown, devicesOf, other, Object.keys(placement?.busy_seconds ?? {}));
  for (const { key, ids } of shown) {
    const devices = new Set(ids.flatMap(devicesOf));
    if (devices.size) overlay.says.set(key, [...devices].join(", "));
  }
  return overlay;
}

/**
 * Return the kernels generated for a node, or, without such kernels, all kernels that contain its ONNX nodes.
 * @template {{node: string, origins: string[]}} K
 * @param {K[]} kernels
 * @returns {(node: GraphNode | undefined) => K[]}
 */
function kernelsOf(kernels) {
  const own = new Map(kernels.map((kernel) => [kernel.node, kernel]));
  /** @type {Map<string, K[]>} */
  const byOrigin = new Map();
  for (const kernel of kernels)
    for (const origin of kernel.origins)
      byOrigin.set(origin, [...(byOrigin.get(origin) ?? []), kernel]);
  return (node) => {
    if (!node || node.kind !== "node") return [];
    const exact = own.get(node.id);
    return exact ? [exact] : node.origins.flatMap((origin) => byOrigin.get(origin) ?? []);
  };
}

/**
 * @param {SceneNode[]} shown
 * @param {(id: string) => string[]} kindsOf
 * @param {string} other
 * @param {string[]} [fixed] all kinds in a fixed order; otherwise most frequent first
 * @returns {Overlay}
 */
function byKind(shown, kindsOf, other, fixed) {
  /** @type {Map<string, string>} */
  const kinds = new Map();
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { key, ids, open } of shown) {
    if (open) continue;
    const found = ids.flatMap(kindsOf);
    if (found.length === 0) continue;
    const kind = mostFrequent(found);
    kinds.set(key, kind);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const order = fixed
    ? fixed.map((kind) => /** @type {const} */ ([kind, counts.get(kind) ?? 0]))
    : [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const named = order.length > MOST_KINDS ? order.slice(0, MOST_KINDS - 1) : order;
  const classes = named.map(([label, n]) => ({ label, n }));
  const rest = order.slice(named.length).reduce((sum, [, n]) => sum + n, 0);
  if (rest > 0) classes.push({ label: other, n: rest });
  const index = new Map(named.map(([kind], i) => [kind, i]));
  const classOf = new Map(
    [...kinds].map(([key, kind]) => [key, index.get(kind) ?? named.length]),
  );
  return { scale: "hue", classes, classOf, says: kinds };
}

/** @param {string[]} words */
function mostFrequent(words) {
  const counts = new Map();
  for (const each of words) counts.set(each, (counts.get(each) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0][0];
}

/** @param {string} type "f32[1,64]{c16}" */
function elements(type) {
  return /^\w+/.exec(type)?.[0] ?? type;
}

/** @param {string} plain @returns {(type: string) => string} */
function layoutIn(plain) {
  return (type) => /\{(.*)\}$/.exec(type)?.[1] ?? plain;
}
