import assert from "node:assert/strict";
import test from "node:test";
import { createState, together } from "../../../static/js/state/state.js";

test("a watcher runs at once and when one of its keys changes, but not for other keys", () => {
  const state = createState({ a: 1, b: 1 });
  /** @type {number[]} */
  const seen = [];
  state.watch(["a"], ({ a }) => seen.push(a));
  state.set({ b: 2 });
  state.set({ a: 2 });
  state.set({ a: 2 });
  assert.deepEqual(seen, [1, 2]);
});

test("a watcher of several keys runs once per update", () => {
  const state = createState({ a: 1, b: 1 });
  let runs = 0;
  state.watch(["a", "b"], () => (runs += 1));
  state.set({ a: 2, b: 2 });
  assert.equal(runs, 2);
});

test("all watchers see an update before the next update begins", () => {
  const state = createState({ a: 0 });
  /** @type {string[]} */
  const seen = [];
  state.watch(["a"], ({ a }) => {
    seen.push(`first ${a}`);
    if (a === 1) state.set({ a: 2 });
  });
  state.watch(["a"], ({ a }) => seen.push(`second ${a}`));
  state.set({ a: 1 });
  assert.deepEqual(seen, ["first 0", "second 0", "first 1", "second 1", "first 2", "second 2"]);
});

test("a new array with equal items is no change", () => {
  const state = createState({ list: ["a"] });
  let runs = 0;
  state.watch(["list"], () => (runs += 1));
  state.set({ list: ["a"] });
  assert.equal(runs, 1);
  state.set({ list: ["b"] });
  assert.equal(runs, 2);
});

test("a stopped watcher is not called, even within the same update", () => {
  const state = createState({ a: 0 });
  let late = 0;
  /** @type {() => void} */
  let stopLate = () => {};
  state.watch(["a"], ({ a }) => a === 1 && stopLate());
  stopLate = state.watch(["a"], () => (late += 1));
  state.set({ a: 1 });
  assert.equal(late, 1);
});

test("a watcher that throws does not block later updates", () => {
  const state = createState({ a: 0, b: 0 });
  const stop = state.watch(["a"], ({ a }) => {
    if (a === 1) throw new Error("broken pane");
  });
  assert.throws(() => state.set({ a: 1 }), /broken pane/);
  stop();
  state.set({ b: 5 });
  assert.equal(state.get().b, 5);
});

test("`together` stops all watchers", () => {
  let stopped = 0;
  together(
    () => (stopped += 1),
    () => (stopped += 1),
  )();
  assert.equal(stopped, 2);
});
