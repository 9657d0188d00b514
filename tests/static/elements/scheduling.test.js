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

test("work makes the same at once and in turns", async () => {
  assert.equal(synchronously(adding(100)), 5050);
  assert.equal(await inTimeSlices(adding(100), () => true), 5050);
});

test("long work lets others have their turn before it ends", async () => {
  const seen = /** @type {string[]} */ ([]);
  const work = inTimeSlices(adding(6, () => busy(5)), () => true).then(() => seen.push("work"));
  void nextTask().then(() => seen.push("other"));
  await work;
  assert.deepEqual(seen, ["other", "work"]);
});

test("what is not wanted any more is given up after a turn", async () => {
  let done = 0;
  const work = adding(1000, () => {
    done += 1;
    busy(3);
  });
  assert.equal(await inTimeSlices(work, () => false), undefined);
  assert.ok(done < 1000);
});

test("what has a turn of its own is started after what runs, and ended once; unless ended before", async () => {
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
