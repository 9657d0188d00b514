// A uniform grid over boxes, which finds the boxes in view or under the pointer without a linear scan.
import { synchronously } from "../elements/scheduling.js";

/** @typedef {readonly [left: number, top: number, right: number, bottom: number]} Bounds */

/** Average number of boxes per cell. */
const PER_CELL = 4;
/** Maximum number of cells of a box; larger boxes are tested at every query. */
const MOST_CELLS = 48;
/** Boxes inserted per step. */
const PER_STEP = 512;

/** @typedef {(bounds: Bounds) => number[]} Finder the indices of the boxes that overlap the bounds, ascending */

/**
 * @param {Bounds[]} boxes
 * @returns {Finder}
 */
export function createGrid(boxes) {
  return synchronously(gridSteps(boxes));
}

/**
 * Build the grid in short steps.
 * @param {Bounds[]} boxes
 * @returns {Generator<void, Finder>}
 */
export function* gridSteps(boxes) {
  const [left, top, right, bottom] = boundsOf(boxes);
  const side = Math.max(1, Math.sqrt(((right - left) * (bottom - top) * PER_CELL) / Math.max(1, boxes.length)));
  const [columns, rows] = [right - left, bottom - top].map((length) => Math.floor(Math.max(0, length) / side) + 1);
  const at = (/** @type {number} */ x, /** @type {number} */ from, /** @type {number} */ n) =>
    Math.min(n - 1, Math.max(0, Math.floor((x - from) / side)));
  /** @param {Bounds} bounds @returns {[number, number, number, number]} first and last column, first and last row */
  const cellsOf = ([l, t, r, b]) => [at(l, left, columns), at(r, left, columns), at(t, top, rows), at(b, top, rows)];
  const all = boxes.map((_, i) => i);

  /** @type {Map<number, number[]>} */
  const cells = new Map();
  /** @type {number[]} */
  const wide = [];
  for (const [i, box] of boxes.entries()) {
    if (i % PER_STEP === PER_STEP - 1) yield;
    const [c0, c1, r0, r1] = cellsOf(box);
    if ((c1 - c0 + 1) * (r1 - r0 + 1) > MOST_CELLS) {
      wide.push(i);
      continue;
    }
    for (let r = r0; r <= r1; r++)
      for (let c = c0; c <= c1; c++) {
        const cell = cells.get(r * columns + c);
        if (cell) cell.push(i);
        else cells.set(r * columns + c, [i]);
      }
  }

  return (bounds) => {
    const [c0, c1, r0, r1] = cellsOf(bounds);
    const isSeen = (/** @type {number} */ i) => overlaps(boxes[i], bounds);
    if ((c1 - c0 + 1) * (r1 - r0 + 1) * 2 > columns * rows) return all.filter(isSeen);
    /** @type {Set<number>} */
    const found = new Set(wide.filter(isSeen));
    for (let r = r0; r <= r1; r++)
      for (let c = c0; c <= c1; c++)
        for (const i of cells.get(r * columns + c) ?? []) if (isSeen(i)) found.add(i);
    return [...found].sort((a, b) => a - b);
  };
}

/** @param {Bounds[]} boxes @returns {Bounds} */
function boundsOf(boxes) {
  const around = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [l, t, r, b] of boxes) {
    around[0] = Math.min(around[0], l);
    around[1] = Math.min(around[1], t);
    around[2] = Math.max(around[2], r);
    around[3] = Math.max(around[3], b);
  }
  return boxes.length ? /** @type {any} */ (around) : [0, 0, 0, 0];
}

/**
 * @param {Bounds} a
 * @param {Bounds} b
 */
export function overlaps(a, b) {
  return a[0] <= b[2] && a[2] >= b[0] && a[1] <= b[3] && a[3] >= b[1];
}
