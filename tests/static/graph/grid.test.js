import assert from "node:assert/strict";
import test from "node:test";
import { createGrid, overlaps } from "../../../static/js/graph/grid.js";

/** A small generator, so that a failure can be repeated. @param {number} seed */
function numbers(seed) {
  let state = seed;
  return (/** @type {number} */ below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return (state / 2147483648) * below;
  };
}

test("a grid finds the same boxes, in the same order, as a search of all boxes", () => {
  const next = numbers(7);
  /** @returns {import("../../../static/js/graph/grid.js").Bounds} */
  const box = (/** @type {number} */ most) => {
    const [x, y] = [next(3000) - 200, next(900) - 100];
    return [x, y, x + next(most), y + next(most / 3)];
  };
  const boxes = Array.from({ length: 500 }, (_, i) => box(i % 50 ? 120 : 2500));
  const within = createGrid(boxes);
  for (let i = 0; i < 200; i++) {
    const view = box(i % 10 ? 300 : 4000);
    const expected = boxes.flatMap((each, at) => (overlaps(each, view) ? [at] : []));
    assert.deepEqual(within(view), expected);
  }
});

test("a grid may be empty, or contain boxes at a single point", () => {
  assert.deepEqual(createGrid([])([0, 0, 9, 9]), []);
  assert.deepEqual(createGrid([[2, 3, 2, 3], [2, 3, 2, 3]])([0, 0, 2, 3]), [0, 1]);
  assert.deepEqual(createGrid([[2, 3, 2, 3]])([4, 4, 9, 9]), []);
});
