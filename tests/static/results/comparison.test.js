import assert from "node:assert/strict";
import test from "node:test";
import { faster, figuresOf, operatorsOf } from "../../../static/js/results/comparison.js";

/** @type {(low_s: number | null, high_s: number | null) => any} */
const run = (low_s, high_s) => ({ low_s, high_s });

test("two runs differ significantly only if their intervals are disjoint", () => {
  assert.equal(faster(run(1, 2), run(3, 4)), "a");
  assert.equal(faster(run(3, 4), run(1, 2)), "b");
  assert.equal(faster(run(1, 3), run(2, 4)), "same");
  assert.equal(faster(run(null, null), run(2, 4)), "");
  assert.equal(faster(null, run(2, 4)), "");
});

test("operators with different counts come first", () => {
  const graph = (/** @type {string[]} */ ...ops) => /** @type {any} */ ({ nodes: [{ op: "input", kind: "input" }, ...ops.map((op) => ({ op, kind: "node" }))] });
  assert.deepEqual(operatorsOf(graph("add", "relu", "relu", "relu"), graph("add", "fusion")), [
    { op: "relu", a: 3, b: 0 },
    { op: "fusion", a: 0, b: 1 },
    { op: "add", a: 1, b: 1 },
  ]);
});

test("live bytes exclude alignment gaps", () => {
  const memory = { peak_bytes: 196, lower_bound_bytes: 196, live_peak_bytes: 72 };
  const result = /** @type {any} */ ({ stages: [], kernels: [], running: null, memory, timings: [], check: null });
  const rows = Object.fromEntries(figuresOf(result, result).map(({ key, a }) => [key, a]));
  assert.deepEqual([rows.arena, rows.live], [196, 72]);
});

test("the traffic of a run is the sum over its kernels", () => {
  const kernels = [{ bytes_read: 64, bytes_written: 32, inside: null }, { bytes_read: 8, bytes_written: 4, inside: null }];
  const result = /** @type {any} */ ({ stages: [], kernels, running: null, memory: null, timings: [], check: null });
  assert.equal(figuresOf(result, { ...result, kernels: [] }).find((each) => each.key === "traffic")?.a, 108);
  assert.equal(figuresOf(result, { ...result, kernels: [] }).find((each) => each.key === "traffic")?.b, null);
});

test("figures of a result without memory plan or check are unknown, not 0", () => {
  const result = /** @type {any} */ ({ stages: [], kernels: [], running: null, memory: null, timings: [], check: null });
  const figures = figuresOf(result, result);
  assert.equal(figures.find((each) => each.key === "arena")?.a, null);
  assert.equal(figures.find((each) => each.key === "error")?.b, null);
});
