import assert from "node:assert/strict";
import test from "node:test";
import { longestPair, pairKernels, timesOf } from "../../../static/js/results/kernel_pairs.js";

/** @type {(kernel: number, origins: string[], more?: object) => any} */
const made = (kernel, origins, more = {}) => ({
  kernel,
  name: `k${kernel}`,
  op: "fusion",
  flops: 1,
  origins,
  parts: ["asm"],
  median_s: null,
  predicted_s: null,
  ...more,
});

/** @param {import("../../../static/js/results/kernel_pairs.js").KernelPair[]} pairs */
const said = (pairs) =>
  pairs.map(({ a, b, shared, all, elsewhere }) => [
    a?.kernel ?? null,
    b?.kernel ?? null,
    `${shared}/${all}`,
    elsewhere?.kernel ?? null,
  ]);

test("kernels of the same nodes are a pair, independent of the order of nodes and kernels", () => {
  const a = [made(0, ["conv", "relu"]), made(1, ["pool"]), made(2, ["gemm"])];
  const b = [made(0, ["gemm"]), made(1, ["relu", "conv"]), made(2, ["pool"])];
  assert.deepEqual(said(pairKernels(a, b)), [
    [0, 1, "2/2", null],
    [1, 2, "1/1", null],
    [2, 0, "1/1", null],
  ]);
});

test("a fused kernel is paired with the kernel that does most of its work, and the other kernels refer to it", () => {
  const a = [made(0, ["pad"]), made(1, ["bias", "conv", "relu"], { flops: 900 })];
  const b = [
    made(0, ["bias"], { flops: 7 }),
    made(1, ["conv"], { flops: 800 }),
    made(2, ["relu"], { flops: 9 }),
    made(3, ["cast"]),
  ];
  assert.deepEqual(said(pairKernels(a, b)), [
    [0, null, "0/1", null],
    [1, 1, "1/3", null],
    [null, 0, "0/1", 1],
    [null, 2, "0/1", 1],
    [null, 3, "0/1", null],
  ]);
  // Selected from the other side, the pair is the same.
  assert.deepEqual(said(pairKernels(b, a)).slice(0, 3), [
    [0, null, "0/1", 1],
    [1, 1, "1/3", null],
    [2, null, "0/1", 1],
  ]);
});

test("kernels of equal node sets are paired first, then kernels by decreasing overlap", () => {
  const a = [made(0, ["a", "b", "c"]), made(1, ["c"]), made(2, ["d", "e", "f"])];
  const b = [made(0, ["c"]), made(1, ["a"]), made(2, ["b", "a", "d"]), made(3, ["e", "f"])];
  assert.deepEqual(said(pairKernels(a, b)), [
    [0, 2, "2/4", null],
    [1, 0, "1/1", null],
    [2, 3, "2/3", null],
    [null, 1, "0/1", 0],
  ]);
});

test("several kernels of one node are paired by operator", () => {
  const a = [made(0, ["norm"], { op: "mean" }), made(1, ["norm"], { op: "scale" })];
  const b = [
    made(0, ["norm"], { op: "scale" }),
    made(1, ["norm"], { op: "mean" }),
    made(2, ["norm"], { op: "mean" }),
  ];
  assert.deepEqual(said(pairKernels(a, b)), [
    [0, 1, "1/1", null],
    [1, 0, "1/1", null],
    [null, 2, "0/1", 0],
  ]);
});

test("kernels without ONNX nodes are paired by name", () => {
  const a = [made(0, [], { name: "to_blocks" }), made(1, [], { name: "copy" })];
  const b = [made(0, [], { name: "copy" })];
  assert.deepEqual(said(pairKernels(a, b)), [
    [0, null, "0/0", null],
    [1, 0, "0/0", null],
  ]);
});

test("the pair shown first is the slowest pair in which both kernels have code", () => {
  const a = [made(0, ["x"], { median_s: 2 }), made(1, ["y"], { median_s: 1 }), made(2, ["z"], { median_s: 9, parts: [] })];
  const b = [made(0, ["x"], { median_s: 1 }), made(1, ["y"], { median_s: 3 }), made(2, ["z"], { median_s: 9 })];
  assert.equal(longestPair(pairKernels(a, b))?.a?.kernel, 1);
  assert.equal(longestPair([]), undefined);
});

test("kernels that divide the work of one kernel complete its pair, and their times are added", () => {
  const timed = (/** @type {number} */ seconds) => ({ median_s: seconds, low_s: 0.9 * seconds, high_s: 1.2 * seconds });
  const a = [made(0, ["bias", "conv", "relu"], timed(10)), made(1, ["gemm"], timed(3))];
  const b = [
    made(0, ["conv"], { ...timed(7), flops: 800 }),
    made(1, ["bias"], timed(2)),
    made(2, ["relu"], timed(4)),
    made(3, ["gemm"], { ...timed(2), op: "matmul" }),
    made(4, ["gemm"], { ...timed(5), op: "add" }),
  ];
  const pairs = pairKernels(a, b);
  const numbers = pairs.map(({ more }) => more.b.map(({ kernel }) => kernel));
  assert.deepEqual(numbers.slice(0, 2), [[1, 2], [4]]);
  assert.deepEqual(timesOf(pairs[0], "b")?.median_s, 13);
  assert.deepEqual(timesOf(pairs[0], "a")?.median_s, 10);
  assert.deepEqual(timesOf(pairs[1], "b")?.median_s, 7);
  // From the other side, the sums are in A.
  const swapped = pairKernels(b, a).find((pair) => pair.b === a[0]);
  assert.deepEqual(swapped && timesOf(swapped, "a")?.median_s, 13);
});

test("a kernel with nodes that no kernel of the other side has is not completed", () => {
  const a = [made(0, ["conv", "relu", "clip"])];
  const b = [made(0, ["conv"], { flops: 9 }), made(1, ["relu"])];
  assert.deepEqual(pairKernels(a, b)[0].more, { a: [], b: [] });
  assert.equal(timesOf(pairKernels(a, b)[0], "b"), null);
});
