// Tests of the job that a view in a lesson starts for a pane.
import assert from "node:assert/strict";
import test from "node:test";
import { STARTED, requestFinding } from "../../../static/js/jobs/finding.js";
import { EMPTY } from "../../../static/js/state/page.js";

const kernel = (/** @type {number} */ number, /** @type {string} */ origin, parts = ["computation"]) => ({
  kernel: number, node: origin, origins: [origin], native: true, median_s: number, flops: 0, parts,
});
const RESULT = /** @type {any} */ ({
  kernels: [kernel(0, "a"), kernel(1, "b"), kernel(2, "c", [])],
});
const PAGE = { ...EMPTY, parts: /** @type {any} */ ({ id: "job" }), result: RESULT };

/** @param {string} kind @param {import("../../../static/js/state/page.js").Page} page */
function asked(kind, page) {
  /** @type {unknown[]} */
  let found = [];
  const note = (/** @type {string} */ name) => (/** @type {unknown[]} */ ...more) => {
    found = [name, ...more];
    return Promise.resolve(/** @type {any} */ ({}));
  };
  const requests = { check: note("check"), place: note("place"), targets: note("targets") };
  void requestFinding(/** @type {any} */ (requests), kind, page);
  return found;
}

test("each kind is requested for the state of the view", () => {
  assert.deepEqual(STARTED, ["check", "place", "targets"]);
  assert.deepEqual(asked("check", PAGE), ["check", "job"]);
  assert.deepEqual(asked("place", { ...PAGE, platform: "gpu", scheduler: "iterated", ahead: -1 }), [
    "place", "job", { platform: "gpu", scheduler: "iterated", ahead: null },
  ]);
});

test("code for other machines is that of the selected kernel, or of the longest with a computation", () => {
  assert.deepEqual(asked("targets", { ...PAGE, selection: ["a"] }), ["targets", "job", 0]);
  assert.deepEqual(asked("targets", PAGE), ["targets", "job", 1]);
  assert.deepEqual(asked("targets", { ...PAGE, selection: ["c"] }), ["targets", "job", 1]);
});
