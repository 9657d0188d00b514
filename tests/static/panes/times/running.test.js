import assert from "node:assert/strict";
import test from "node:test";
import { fallbackNodes, fallbacksByReason, nested, placeName, whyNone } from "../../../../static/js/results/running.js";

/**
 * @param {number} kernel
 * @param {number | null} inside
 * @param {string} because "" for a native one
 * @returns {any}
 */
const at = (kernel, inside, because = "") => ({
  kernel,
  inside,
  name: `k${kernel}`,
  node: `n${kernel}`,
  origins: [`o${kernel}`],
  native: because === "",
  words: because || "elementwise",
});

test("a result without kernels either needs no kernel, waits for kernels, or ended early", () => {
  assert.equal(whyNone({ complete: true, state: "succeeded" }), "kernel.none-needed");
  assert.equal(whyNone({ complete: false, state: "running" }), "code.soon");
  assert.equal(whyNone({ complete: false, state: "failed" }), "kernel.none");
});

test("kernels inside a launch are listed directly after the launch, at any depth", () => {
  const kernels = [at(0, null), at(1, null), at(2, 0), at(3, 0), at(4, 3)];
  const rows = nested(kernels).map(({ kernel, depth }) => [kernel.kernel, depth]);
  assert.deepEqual(rows, [
    [0, 0],
    [2, 1],
    [3, 1],
    [4, 2],
    [1, 0],
  ]);
});

test("a kernel is listed even if the kernel that contains it is not", () => {
  const rows = nested([at(1, null), at(4, 3)]).map(({ kernel, depth }) => [kernel.kernel, depth]);
  assert.deepEqual(rows, [
    [1, 0],
    [4, 0],
  ]);
});

test("fallbacks with the same reason are listed together", () => {
  const kernels = [at(0, null, "no loops"), at(1, null), at(2, null, "strings"), at(3, null, "no loops")];
  const found = fallbacksByReason(kernels).map((each) => [
    each.because,
    each.kernels.map(({ kernel }) => kernel),
  ]);
  assert.deepEqual(found, [
    ["no loops", [0, 3]],
    ["strings", [2]],
  ]);
  assert.deepEqual([...fallbackNodes(kernels)], [
    ["n0", "no loops"],
    ["n2", "strings"],
    ["n3", "no loops"],
  ]);
});

test("a kernel is named by its ONNX nodes if they are few", () => {
  assert.equal(placeName(at(5, null)), "o5");
  assert.equal(placeName({ ...at(5, null), origins: ["a", "b"] }), "a + b");
  assert.equal(placeName({ ...at(5, null), origins: ["a", "b", "c", "d"] }), "k5");
  assert.equal(placeName({ ...at(5, null), origins: [] }), "k5");
});
