// Tests of the tour's sentences: the figures of the stored compilation, and the reasons for missing figures.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { countInstructions, kindsOfLoops } from "../../../../static/js/panes/tour/code_stop.js";
import { FUSE, fusingStage, isUnfused } from "../../../../static/js/panes/tour/fusion_stop.js";
import { withoutPass } from "../../../../static/js/text/pipeline_text.js";
import { STOPS, stopOf } from "../../../../static/js/panes/tour/stops.js";
import { TOUR_STOPS } from "../../../../static/js/state/url.js";

/** @typedef {import("../../../../static/js/panes/tour/stops.js").Facts} Facts */

const golden = (/** @type {string} */ name) =>
  JSON.parse(readFileSync(new URL(`../../../golden/wire/${name}.json`, import.meta.url), "utf8"));

/** @type {import("../../../../static/js/wire.js").Result} */
const result = golden("result");
const fuse = /** @type {import("../../../../static/js/wire.js").Stage} */ (fusingStage(result));

/** @type {Facts} */
const FACTS = {
  result,
  precisions: golden("pipelines").precisions,
  panes: ["steps", "numerics"],
  steps: golden(`stage-${fuse.stage}-steps`),
  loops: golden("kernel-0-loops"),
  asm: golden("kernel-0-asm"),
  unfused: null,
  compiles: false,
  comparison: null,
};

/** @param {number} number @param {Partial<Facts>} [facts] */
const at = (number, facts = {}) => stopOf(number, { ...FACTS, ...facts });
/** @param {number} number @param {Partial<import("../../../../static/js/wire.js").Result>} changes */
const with_ = (number, changes) => at(number, { result: { ...result, ...changes } });
/** @param {ReturnType<typeof at>} stop */
const keys = ({ says }) => says.map(([key]) => key);
/** @param {ReturnType<typeof at>} stop @param {string} key */
const values = ({ says }, key) => says.find(([each]) => each === key)?.[1];

test("the URL knows every stop", () => {
  assert.equal(STOPS.length, TOUR_STOPS);
});

test("the model that came in is told by its operators, types and assumed sizes", () => {
  const stop = at(1);
  assert.deepEqual(values(stop, "tour.came-imported")?.nodes, ["n-nodes", { n: 13, count: "13" }]);
  assert.deepEqual(values(stop, "tour.came-imported")?.onnx, ["n-onnx-nodes", { n: 12, count: "12" }]);
  const unchanged = with_(1, { model: { ...result.model, n_onnx_nodes: 13 } });
  assert.deepEqual(values(unchanged, "tour.came")?.nodes, ["n-nodes", { n: 13, count: "13" }]);
  assert.deepEqual(values(stop, "tour.assumed"), { shapes: "image = 1×1×8×8" });
  assert.equal(stop.move.stage, 0);
  assert.ok(keys(with_(1, { model: { ...result.model, n_parameters: 0 } })).includes("tour.no-weights"));
  const sized = Object.fromEntries(Object.entries(result.shapes).map(([k, v]) => [k, { ...v, assumed: false }]));
  assert.ok(!keys(with_(1, { shapes: sized })).includes("tour.assumed"));
});

test("operators that are not named are told with all their nodes", () => {
  const counts = [15, 14, 7, 6, 5, 4, 3];
  const operators = counts.map((count, i) => ({ op: `op${i}`, count }));
  const stop = with_(1, { model: { ...result.model, operators } });
  assert.deepEqual(values(stop, "tour.came-imported")?.operators, [
    "tour.listed-operators",
    { named: "15 op0, 14 op1, 7 op2, 6 op3", n: 3, nodes: ["n-nodes", { n: 12, count: "12" }] },
  ]);
  const few = with_(1, { model: { ...result.model, operators: operators.slice(0, 5) } });
  assert.equal(values(few, "tour.came-imported")?.operators, "15 op0, 14 op1, 7 op2, 6 op3, 5 op4");
});

test("the time of a run without a comparison has its interval and its disturbance", () => {
  const run = /** @type {any} */ ({ ...result.run, median_s: 0.002, low_s: 0.001, high_s: 0.003, disturbance: { causes: ["busy"] } });
  const disturbed = with_(2, { run });
  assert.deepEqual(values(disturbed, "tour.time-unfused"), { time: "2\u00a0ms", low: "1\u00a0ms", high: "3\u00a0ms" });
  assert.ok(keys(disturbed).includes("tour.time-disturbed"));
  const quiet = with_(2, { run: { ...run, disturbance: { causes: [] } } });
  assert.ok(!keys(quiet).includes("tour.time-disturbed"));
});

test("fusion is told by its nodes, kernels and traffic, and opens the step that saves most", () => {
  const stop = at(2);
  assert.deepEqual(values(stop, "tour.fused"), {
    nodes: ["n-nodes", { n: 6, count: "6" }],
    kernels: ["header.kernels", { n: 3, count: "3" }],
  });
  assert.deepEqual(values(stop, "tour.fused-saves"), { saved: "12.4\u00a0kB" });
  const [stage, index] = String(stop.move.step).split(":").map(Number);
  assert.equal(stage, fuse.stage);
  assert.equal(FACTS.steps?.steps[index].saves?.bytes, 8192);
});

test("the time of fusion is told only if a compilation without fusion was measured", () => {
  assert.ok(keys(at(2)).includes("tour.time-unfused"));
  assert.ok(keys(at(2, { compiles: true })).includes("tour.time-compiling"));
  assert.ok(keys(at(2, { unfused: result })).includes("tour.time-comparing"));
  const timed = (/** @type {string} */ verdict, /** @type {number} */ ratio, causes = /** @type {string[]} */ ([])) =>
    at(2, {
      unfused: result,
      comparison: /** @type {any} */ ({
        verdict,
        ratio,
        low: ratio - 0.125,
        high: ratio + 0.3,
        is_native: true,
        disturbance: { causes },
        a: { launches_s: 0.001 },
        b: { launches_s: 0.001 * ratio },
      }),
    });
  const slower = timed("slower", 2);
  assert.deepEqual(values(slower, "tour.time-both"), { fused: "1\u00a0ms" });
  assert.deepEqual(values(slower, "tour-fusion.slower"), { share: "100\u00a0%", low: "87.5\u00a0%", high: "130.0\u00a0%" });
  assert.deepEqual(values(timed("faster", 0.5), "tour-fusion.faster"), { share: "50.0\u00a0%", low: "20.0\u00a0%", high: "62.5\u00a0%" });
  assert.ok(!keys(slower).includes("tour-fusion.disturbed"));
  assert.ok(!keys(slower).includes("tour.see-fusion") && keys(at(2)).includes("tour.see-fusion"));
  assert.ok(!keys(slower).some((key) => key === "tour-fusion.short" || key === "tour-fusion.cached"));
  for (const [bound, reason] of [["overhead", "tour-fusion.short"], ["L1", "tour-fusion.cached"], ["compute", "tour-fusion.cached"]]) {
    const kernels = result.kernels.map((each) => ({ ...each, bound: /** @type {any} */ (bound) }));
    const comparison = /** @type {any} */ ({ verdict: "slower", ratio: 1.1, low: 1.05, high: 1.2, is_native: true, disturbance: { causes: ["busy"] }, a: { launches_s: 1 }, b: { launches_s: 1.1 } });
    assert.ok(keys(at(2, { result: { ...result, kernels }, unfused: result, comparison })).includes(reason));
  }
  assert.ok(keys(timed("same", 1.001, ["busy"])).includes("tour-fusion.same"));
  assert.ok(keys(timed("same", 1.001, ["busy"])).includes("tour-fusion.disturbed"));
  assert.ok(keys(with_(2, { run: null })).includes("tour.time-none"));
});

test("the arena with and without fusion is told once both are known", () => {
  const memory = /** @type {NonNullable<typeof result.memory>} */ (result.memory);
  const unfused = (/** @type {number} */ bytes) => at(2, { unfused: { ...result, memory: { ...memory, peak_bytes: bytes } } });
  assert.ok(!keys(at(2)).some((key) => key.startsWith("tour.arena")));
  assert.ok(keys(unfused(memory.peak_bytes)).includes("tour.arena-unchanged"));
  assert.equal(values(unfused(20_000), "tour.arena-both")?.unfused, "20\u00a0kB");
});

test("a pipeline without fusion, and fusion without effect, say so with the reason", () => {
  const stages = result.stages.filter(({ name }) => name !== "fuse");
  const none = with_(2, { stages });
  assert.deepEqual([none.applies, keys(none)], [false, ["tour.no-fuse"]]);
  assert.deepEqual(keys(with_(2, { stages, complete: false, state: "failed" })), ["tour.fuse-not-reached"]);
  const idle = result.stages.map((each) => (each.name === "fuse" ? { ...each, n_applied: 0, changed: false } : each));
  const declined = /** @type {NonNullable<Facts["steps"]>} */ (FACTS.steps).steps.filter(({ outcome }) => outcome === "declined");
  const nothing = at(2, { result: { ...result, stages: idle }, steps: { ...golden(`stage-${fuse.stage}-steps`), steps: declined } });
  assert.equal(nothing.applies, false);
  assert.equal(values(nothing, "tour.fuse-declined")?.because, declined[0].because);
});

test("a compilation counts as unfused only if fusion is the sole difference", () => {
  const unfused = {
    ...result,
    pipeline: (withoutPass(result.pipeline, FUSE) ?? "").replace(/-fuse(\{[^}]*\})?,/, ""),
    stages: result.stages.filter(({ name }) => name !== "fuse"),
  };
  assert.ok(isUnfused(result, unfused));
  assert.ok(!isUnfused(result, result));
  assert.ok(!isUnfused(result, { ...unfused, pipeline: "fold_constants" }));
  assert.ok(!isUnfused(result, { ...unfused, options: { ...result.options, threads: 9 } }));
  assert.equal(withoutPass("simplify,fuse{policy=xla},fuse_data_movement", FUSE), "simplify,-fuse{policy=xla},fuse_data_movement");
});

test("memory is told by the arena, and an empty arena by its reason", () => {
  const stop = at(3);
  assert.equal(values(stop, "tour.arena")?.peak, "6.4\u00a0kB");
  assert.deepEqual(values(stop, "tour.arena-shared"), { unshared: "9.67\u00a0kB", share: "33.8\u00a0%" });
  assert.ok(keys(stop).includes("tour.arena-least"));
  const memory = /** @type {NonNullable<typeof result.memory>} */ (result.memory);
  const empty = with_(3, { memory: { ...memory, buffers: [] } });
  assert.deepEqual([empty.applies, keys(empty)], [false, ["memory.no-buffers"]]);
  assert.deepEqual(keys(with_(3, { memory: null })), ["memory.none"]);
  assert.ok(keys(with_(3, { memory: { ...memory, lower_bound_bytes: 64 } })).includes("tour.arena-gap"));
});

test("code is told by the slowest kernel, its loops and its instructions", () => {
  const stop = at(4);
  assert.equal(stop.move.pane, "stack");
  const idle = { ...result.stages[result.stages.length - 1], changed: false };
  const last = result.stages.findLastIndex(({ changed }) => changed);
  for (const number of [3, 4]) assert.equal(with_(number, { stages: [...result.stages, idle] }).move.stage, last);
  assert.ok(keys(stop).includes("tour.loops") && keys(stop).includes("tour.instructions"));
  const foreign = result.kernels.map((each) => ({ ...each, native: false, words: "no code" }));
  const none = with_(4, { kernels: foreign });
  assert.deepEqual([none.applies, keys(none)], [false, ["tour.no-native"]]);
  assert.deepEqual(keys(with_(4, { kernels: [] })), ["tour.no-kernels"]);
  const untimed = result.kernels.map((each) => ({ ...each, median_s: null }));
  assert.ok(keys(with_(4, { kernels: untimed })).includes("tour.kernel-untimed"));
});

test("loops and instructions are counted by their lines", () => {
  const text = "kernel k(x: f32[8] input) {\n  for y in 0..8 {\n    vector ol in 0..8 {\n      x[y] = 1\n    }\n  }\n}";
  assert.deepEqual([...kindsOfLoops(text)], [["for", 1], ["vector", 1]]);
  assert.equal(countInstructions("f:\n\tpushq\t%rbp\n\t.p2align\t4\n.LBB0_1:\n\tretq\n"), 2);
});

test("correctness is told by the largest error and the tolerance of the precision", () => {
  const checked = /** @type {any} */ (result.check);
  const stop = with_(5, { check: { ...checked, outputs: [{ ...checked.outputs[0], relative_error: 8.9e-7 }] } });
  assert.deepEqual(values(stop, "tour.error"), { error: "8.9e-7" });
  assert.equal(values(stop, "tour.allowed")?.tolerance, "1e-4");
  assert.deepEqual([stop.move.pane, at(5, { panes: ["timing"] }).move.pane], ["numerics", "timing"]);
  // The last pass may have nothing to do with the result: the reference evaluates the imported graph.
  assert.equal(stop.move.stage, 0);
  assert.ok(keys(stop).includes("tour.see-imported"));
  const outputs = /** @type {any} */ (result.check).outputs;
  const off = (/** @type {number | null} */ relative_error) =>
    keys(with_(5, { check: { seed: 0, skipped: "", outputs: [{ ...outputs[0], relative_error }] } }));
  assert.ok(off(0.5).includes("tour.not-allowed"));
  assert.ok(off(0).includes("tour.same-bits"));
  assert.ok(off(null).includes("tour.odd"));
  const skipped = with_(5, { accuracy: null, check: { seed: 0, skipped: "it is too slow", outputs: [] } });
  assert.deepEqual([skipped.applies, skipped.says], [false, [["tour.unchecked-why", { why: "it is too slow" }]]]);
});
