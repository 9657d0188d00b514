import assert from "node:assert/strict";
import test from "node:test";
import { SLICE, inSlices } from "../../../static/js/elements/slices.js";

/** Node.js is never idle: here it is after all that waits. @type {Map<number, ReturnType<typeof setTimeout>>} */
const idle = new Map();
globalThis.requestIdleCallback = (work) => {
  idle.set(idle.size, setTimeout(() => work({ didTimeout: false, timeRemaining: () => 10 })));
  return idle.size - 1;
};
globalThis.cancelIdleCallback = (request) => clearTimeout(idle.get(request));

test("the first slice is processed synchronously, and later slices follow in order", async () => {
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

test("a shorter first slice is followed by slices of the full size", async () => {
  /** @type {[number, number][]} */
  const made = [];
  await new Promise((resolve) =>
    inSlices(
      12 + 30 + 5,
      (start, end) => {
        made.push([start, end]);
        if (end === 47) resolve(undefined);
      },
      { first: 12, size: 30 },
    ),
  );
  assert.deepEqual(made, [[0, 12], [12, 42], [42, 47]]);
});

test("no slice is processed after the caller stops", async () => {
  let n = 0;
  const stop = inSlices(3 * SLICE, () => (n += 1));
  stop();
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(n, 1);
  inSlices(0, () => (n += 1));
  assert.equal(n, 1);
});
