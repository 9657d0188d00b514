import assert from "node:assert/strict";
import test from "node:test";
import { SLICE, inSlices } from "../../static/js/slices.js";

test("the first slice comes at once, the others later, and all in order", async () => {
  /** @type {[number, number][]} */
  const made = [];
  const whole = new Promise((resolve) =>
    inSlices(2 * SLICE + 7, (start, end) => {
      made.push([start, end]);
      if (end === 2 * SLICE + 7) resolve(undefined);
    }),
  );
  assert.deepEqual(made, [[0, SLICE]]);
  await whole;
  assert.deepEqual(made, [[0, SLICE], [SLICE, 2 * SLICE], [2 * SLICE, 2 * SLICE + 7]]);
});

test("who is not interested any more gets no more slices", async () => {
  let n = 0;
  const stop = inSlices(3 * SLICE, () => (n += 1));
  stop();
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(n, 1);
  inSlices(0, () => (n += 1));
  assert.equal(n, 1);
});
