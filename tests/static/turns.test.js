import assert from "node:assert/strict";
import test from "node:test";
import { atOnce, inOwnTurn, inTurns, nextTurn } from "../../static/js/turns.js";

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
  assert.equal(atOnce(adding(100)), 5050);
  assert.equal(await inTurns(adding(100), () => true), 5050);
});

test("long work lets others have their turn before it ends", async () => {
  const seen = /** @type {string[]} */ ([]);
  const work = inTurns(adding(6, () => busy(5)), () => true).then(() => seen.push("work"));
  void nextTurn().then(() => seen.push("other"));
  await work;
  assert.deepEqual(seen, ["other", "work"]);
});

test("what is not wanted any more is given up after a turn", async () => {
  let done = 0;
  const work = adding(1000, () => {
    done += 1;
    busy(3);
  });
  assert.equal(await inTurns(work, () => false), undefined);
  assert.ok(done < 1000);
});

test("what has a turn of its own is started after what runs, and ended once; unless ended before", async () => {
  /** @type {string[]} */
  const seen = [];
  const stop = inOwnTurn(() => {
    seen.push("started");
    return () => seen.push("ended");
  });
  inOwnTurn(() => {
    seen.push("unwanted");
    return () => {};
  })();
  assert.deepEqual(seen, []);
  await nextTurn();
  await nextTurn();
  assert.deepEqual(seen, ["started"]);
  stop();
  assert.deepEqual(seen, ["started", "ended"]);
});
