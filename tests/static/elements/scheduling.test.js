import assert from "node:assert/strict";
import test from "node:test";
import { synchronously, inOwnTask, inTimeSlices, nextTask } from "../../../static/js/elements/scheduling.js";

/** @param {number} n @param {(i: number) => void} [piece] @returns {Generator<void, number>} */
function* adding(n, piece = () => {}) {
  let sum = 0;
  for (let i = 1; i <= n; i++) {
    piece(i);
    sum += i;
    yield;
  }
  return sum;
}

/** Keeps the thread for some milliseconds, as work does. @param {number} ms */
function busy(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test("a task gives the same result synchronously and in time slices", async () => {
  assert.equal(synchronously(adding(100)), 5050);
  assert.equal(await inTimeSlices(adding(100), () => true), 5050);
});

test("a long task yields to other tasks before it ends", async () => {
  const seen = /** @type {string[]} */ ([]);
  const work = inTimeSlices(adding(6, () => busy(5)), () => true).then(() => seen.push("work"));
  void nextTask().then(() => seen.push("other"));
  await work;
  assert.deepEqual(seen, ["other", "work"]);
});

test("a cancelled task stops after the current time slice", async () => {
  let done = 0;
  const work = adding(1000, () => {
    done += 1;
    busy(3);
  });
  assert.equal(await inTimeSlices(work, () => false), undefined);
  assert.ok(done < 1000);
});

test("a separate task starts after the current task and is stopped once, and a task stopped early never starts", async () => {
  /** @type {string[]} */
  const seen = [];
  const stop = inOwnTask(() => {
    seen.push("started");
    return () => seen.push("ended");
  });
  inOwnTask(() => {
    seen.push("unwanted");
    return () => {};
  })();
  assert.deepEqual(seen, []);
  await nextTask();
  await nextTask();
  assert.deepEqual(seen, ["started"]);
  stop();
  assert.deepEqual(seen, ["started", "ended"]);
});
