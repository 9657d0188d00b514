// Layout of a flame chart: the whole run on top; below it name scopes or operators, ONNX nodes and
// kernels. The width of each box is proportional to its measured time.

/**
 * @typedef {import("../wire.js").Profile} Profile
 * @typedef {import("../wire.js").Kernel} Kernel
 * @typedef {"scope" | "operator"} Grouping
 * @typedef {"run" | "scope" | "operator" | "node" | "kernel"} Kind
 *
 * @typedef {object} Flame a part of the run
 * @property {string} key unique, and stable while the names are stable
 * @property {string} name
 * @property {Kind} kind
 * @property {number} seconds
 * @property {number} share for a kernel: share of its time in this box; 1 if it has a single parent
 * @property {number} kernel number of the kernel, -1 for other kinds
 * @property {string} family family of the longest kernel in this part
 * @property {string[]} origins
 * @property {Flame | null} parent
 * @property {Flame[]} children in the order of their first launch
 *
 * @typedef {{flame: Flame, x: number, y: number, w: number, h: number, above: boolean}} FlameBox
 */

export const ROW = 24;
const GAP = 1;
const LEAST_PIXELS = 0.75;

/** Separator of the names in a key; no node's name contains it. */
const JOIN = "\t";

/**
 * Group by name scopes if most ONNX nodes have a scope, else by operators.
 * @param {Profile} profile
 * @returns {Grouping}
 */
export function naturalGrouping(profile) {
  const origins = profile.kernels.flatMap((each) => Object.keys(each.shares));
  const scoped = origins.filter((name) => pieces(name).length > 1).length;
  return scoped * 2 >= Math.max(origins.length, 1) ? "scope" : "operator";
}

/** @param {string} name */
function pieces(name) {
  return name.split("/").filter(Boolean);
}

/**
 * Return the run as a tree. A fused kernel appears below each of its ONNX nodes, with the share of the node.
 * @param {Profile} profile
 * @param {Kernel[]} kernels
 * @param {object} options
 * @param {Grouping} options.by
 * @param {(origin: string) => string} options.operatorOf
 * @param {(kernel: Kernel) => string} options.familyOf
 * @param {{run: string, nobody: string}} options.words
 * @returns {Flame}
 */
export function flameOf(profile, kernels, { by, operatorOf, familyOf, words }) {
  const root = flame("run", words.run, null);
  for (const times of profile.kernels) {
    const kernel = kernels[times.kernel];
    const shares = Object.entries(times.shares);
    for (const [origin, share] of shares.length ? shares : [["", 1]]) {
      const name = String(origin);
      let at = root;
      if (name === "") at = child(at, "scope", words.nobody);
      else {
        const path = pieces(name);
        const groups = by === "operator" ? [operatorOf(name)] : path.slice(0, -1);
        for (const group of groups) at = child(at, by, group);
        at = child(at, "node", by === "operator" ? name : (path[path.length - 1] ?? name));
        at.origins = [name];
      }
      const leaf = child(at, "kernel", kernel.name);
      leaf.kernel = times.kernel;
      leaf.share = Number(share);
      leaf.origins = kernel.origins;
      leaf.family = familyOf(kernel);
      leaf.seconds = times.median_s * Number(share);
    }
  }
  sum(root);
  return root;
}

/**
 * @param {Kind} kind
 * @param {string} name
 * @param {Flame | null} parent
 * @returns {Flame}
 */
function flame(kind, name, parent) {
  const key = parent ? `${parent.key}${JOIN}${kind[0]}${name}` : "";
  return { key, name, kind, seconds: 0, share: 1, kernel: -1, family: "opaque", origins: [], parent, children: [] };
}

/**
 * @param {Flame} parent
 * @param {Kind} kind
 * @param {string} name
 */
function child(parent, kind, name) {
  const known = parent.children.find((each) => each.kind === kind && each.name === name);
  if (known) return known;
  const made = flame(kind, name, parent);
  parent.children.push(made);
  return made;
}

/** Compute times, families and origins from the leaves up. @param {Flame} at */
function sum(at) {
  if (at.children.length === 0) return;
  at.children.forEach(sum);
  at.seconds = at.children.reduce((total, each) => total + each.seconds, 0);
  at.family = at.children.reduce((a, b) => (b.seconds > a.seconds ? b : a)).family;
  if (at.kind !== "node") at.origins = [...new Set(at.children.flatMap((each) => each.origins))];
}

/** @param {Flame} at @returns {Flame[]} the part and all its descendants */
export function allOf(at) {
  return [at, ...at.children.flatMap(allOf)];
}

/**
 * Return the part with this key, or the whole run if no part has the key.
 * @param {Flame} root
 * @param {string} key
 */
export function find(root, key) {
  return allOf(root).find((each) => each.key === key) ?? root;
}

/** @param {Flame} at @returns {Flame[]} the path from the whole run to the part */
export function pathTo(at) {
  return at.parent ? [...pathTo(at.parent), at] : [at];
}

/** Return the number of rows drawn when zoomed into a part. @param {Flame} within */
export function rowsOf(within) {
  return pathTo(within).length - 1 + depth(within);
}

/** @param {Flame} at @returns {number} */
function depth(at) {
  return 1 + Math.max(0, ...at.children.map(depth));
}

/**
 * Return the visible boxes: the ancestors of `within` at full width, and all descendants of `within`.
 * @param {Flame} within
 * @param {{width: number}} size
 * @returns {FlameBox[]}
 */
export function layoutFlame(within, { width }) {
  const around = pathTo(within);
  /** @type {FlameBox[]} */
  const boxes = around
    .slice(0, -1)
    .map((each, row) => ({ flame: each, x: 0, y: row * ROW, w: width, h: ROW - GAP, above: true }));
  const scale = width / (within.seconds || 1);
  /** @param {Flame} at @param {number} x @param {number} row */
  function place(at, x, row) {
    const w = at.seconds * scale;
    if (w < LEAST_PIXELS) return;
    boxes.push({ flame: at, x, y: row * ROW, w, h: ROW - GAP, above: false });
    for (const each of at.children) {
      place(each, x, row + 1);
      x += each.seconds * scale;
    }
  }
  place(within, 0, around.length - 1);
  return boxes;
}

/**
 * @param {FlameBox[]} boxes
 * @param {{x: number, y: number}} point
 */
export function flameAt(boxes, { x, y }) {
  const found = boxes.find((b) => x >= b.x && x < b.x + b.w && y >= b.y && y < b.y + b.h);
  return found?.flame ?? null;
}

/**
 * Return the target of an arrow key: a sibling, the parent, or the longest child; the same part if there
 * is none.
 * @param {Flame} at
 * @param {"left" | "right" | "up" | "down"} direction
 * @returns {Flame}
 */
export function nextFlame(at, direction) {
  if (direction === "up") return at.parent ?? at;
  if (direction === "down")
    return at.children.reduce((/** @type {Flame | null} */ a, b) => (!a || b.seconds > a.seconds ? b : a), null) ?? at;
  const row = at.parent?.children ?? [at];
  return row[row.indexOf(at) + (direction === "left" ? -1 : 1)] ?? at;
}

/**
 * Return the next kernel in decreasing order of total time, represented by its largest part; the slowest
 * kernel if no kernel is in focus.
 * @param {Flame} within
 * @param {Flame | null} at
 * @param {1 | -1} by
 */
export function nextSlowest(within, at, by) {
  /** @type {Map<number, {seconds: number, largest: Flame}>} */
  const kernels = new Map();
  for (const leaf of allOf(within).filter((each) => each.kind === "kernel")) {
    const known = kernels.get(leaf.kernel) ?? { seconds: 0, largest: leaf };
    known.seconds += leaf.seconds;
    if (leaf.seconds > known.largest.seconds) known.largest = leaf;
    kernels.set(leaf.kernel, known);
  }
  const order = [...kernels.values()].sort((a, b) => b.seconds - a.seconds);
  const place = order.findIndex(({ largest }) => at !== null && largest.kernel === at.kernel);
  return order[place < 0 ? 0 : place + by]?.largest ?? at;
}

/**
 * Return the largest part of a kernel; null if the kernel was not measured.
 * @param {Flame} root
 * @param {number} kernel
 * @returns {Flame | null}
 */
export function largestOf(root, kernel) {
  const parts = allOf(root).filter((each) => each.kind === "kernel" && each.kernel === kernel);
  return parts.sort((a, b) => b.seconds - a.seconds)[0] ?? null;
}
