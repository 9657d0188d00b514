import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import {
  ROW,
  allOf,
  find,
  flameAt,
  flameOf,
  largestOf,
  layoutFlame,
  naturalGrouping,
  nextFlame,
  nextSlowest,
  pathTo,
  rowsOf,
} from "../../../static/js/charts/flame_map.js";

const golden = (/** @type {string} */ name) =>
  JSON.parse(readFileSync(new URL(`../../golden/wire/${name}.json`, import.meta.url), "utf8"));

/** @param {string} name @param {string[]} origins @param {string} family */
const kernel = (name, origins, family) => /** @type {any} */ ({ name, origins, words: family, native: true });
/** @param {number} number @param {number} seconds @param {Record<string, number>} shares @param {number | null} least */
const times = (number, seconds, shares, least = null) =>
  /** @type {any} */ ({ kernel: number, median_s: seconds, predicted_s: least, shares });

const kernels = [
  kernel("conv_relu", ["/a/b/conv", "/a/relu"], "contraction"),
  kernel("relayout", [], "movement"),
  kernel("softmax", ["/top"], "reduction"),
];
/** @type {import("../../../static/js/wire.js").Profile} */
const profile = /** @type {any} */ ({
  kernels: [
    times(0, 6, { "/a/b/conv": 0.75, "/a/relu": 0.25 }, 4),
    times(1, 1, {}),
    times(2, 3, { "/top": 1 }, 3.5),
  ],
  run: { median_s: 9 },
});
const options = {
  by: /** @type {const} */ ("scope"),
  operatorOf: (/** @type {string} */ name) => (name.endsWith("conv") ? "conv" : "other"),
  familyOf: (/** @type {any} */ each) => each.words,
  words: { run: "run", nobody: "added by the compiler" },
};
const root = flameOf(profile, kernels, options);
const named = (/** @type {string} */ name) => /** @type {any} */ (allOf(root).find((each) => each.name === name));

test("the times of kernels are divided among scopes and nodes by predicted cost", () => {
  assert.equal(root.seconds, 10);
  assert.deepEqual(
    root.children.map(({ name, kind, seconds }) => [name, kind, seconds]),
    [["a", "scope", 6], ["added by the compiler", "scope", 1], ["top", "node", 3]],
  );
  assert.deepEqual(named("conv").children.map((/** @type {any} */ k) => [k.kind, k.kernel, k.share, k.seconds]), [["kernel", 0, 0.75, 4.5]]);
  assert.equal(named("relu").seconds, 1.5);
  assert.deepEqual(named("b").origins, ["/a/b/conv"]);
  assert.equal(root.family, "contraction");
});

test("without scopes, bars are grouped by operator, and each bar has a unique key", () => {
  assert.equal(naturalGrouping(profile), "scope");
  const flat = /** @type {any} */ ({ kernels: [times(0, 1, { conv1: 1 }), times(1, 1, { relu1: 1 })] });
  assert.equal(naturalGrouping(flat), "operator");
  const grouped = flameOf(profile, kernels, { ...options, by: "operator" });
  assert.deepEqual(grouped.children.map((each) => [each.name, each.seconds]), [["conv", 4.5], ["other", 4.5], ["added by the compiler", 1]]);
  const keys = allOf(root).map((each) => each.key);
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(find(root, named("relu").key), named("relu"));
  assert.equal(find(root, "gone"), root);
});

test("the zoomed bar has the full width, and its enclosing bars are above it", () => {
  const whole = layoutFlame(root, { width: 100 });
  const of = (/** @type {any[]} */ boxes, /** @type {any} */ flame) => boxes.find((each) => each.flame === flame);
  assert.deepEqual([of(whole, root).w, of(whole, named("a")).w, of(whole, named("top")).x], [100, 60, 70]);
  assert.equal(of(whole, named("top")).y, ROW);
  const inside = layoutFlame(named("a"), { width: 100 });
  assert.deepEqual([of(inside, root).above, of(inside, named("a")).w, of(inside, named("b")).w], [true, 100, 75]);
  assert.equal(of(inside, named("top")), undefined);
  assert.equal(rowsOf(named("a")), 5);
  assert.deepEqual(pathTo(named("conv")).map((each) => each.name), ["run", "a", "b", "conv"]);
});

test("bars too narrow to see are not drawn, and the pointer finds the drawn bars", () => {
  const boxes = layoutFlame(root, { width: 6 });
  assert.ok(!boxes.some((each) => each.flame.name === "relayout"));
  const wide = layoutFlame(root, { width: 100 });
  assert.equal(flameAt(wide, { x: 65, y: ROW + 2 })?.name, "added by the compiler");
  assert.equal(flameAt(wide, { x: 46, y: 2 * ROW + 2 })?.name, "relu");
  assert.equal(flameAt(wide, { x: 5, y: 500 }), null);
});

test("shortcuts step to enclosing, enclosed, adjacent and next slowest bars", () => {
  assert.equal(nextFlame(root, "down"), named("a"));
  assert.equal(nextFlame(named("a"), "right").name, "added by the compiler");
  assert.equal(nextFlame(root, "up"), root);
  assert.equal(nextFlame(named("top"), "right"), named("top"));
  const first = nextSlowest(root, null, 1);
  assert.deepEqual([first?.name, first?.seconds], ["conv_relu", 4.5]);
  const second = nextSlowest(root, first, 1);
  assert.equal(second?.name, "softmax");
  assert.equal(nextSlowest(root, second, -1), first);
  // A kernel is represented by the same box for every way to select it.
  assert.equal(largestOf(root, first?.kernel ?? -1), first);
  assert.equal(largestOf(root, 99), null);
  // The time of a kernel with many boxes is their sum.
  const parts = /** @type {any} */ ({ kernels: [times(0, 4, { "/a": 0.5, "/b": 0.5 }), times(2, 3, { "/top": 1 })] });
  assert.equal(nextSlowest(flameOf(parts, kernels, options), null, 1)?.kernel, 0);
});

test("the parts of a real profile add up to its total time", () => {
  const real = golden("profile");
  const result = golden("result");
  const flame = flameOf(real, result.kernels, { ...options, by: "operator" });
  const total = real.kernels.reduce((/** @type {number} */ sum, /** @type {any} */ k) => sum + k.median_s, 0);
  assert.ok(Math.abs(flame.seconds - total) < 1e-9);
});
