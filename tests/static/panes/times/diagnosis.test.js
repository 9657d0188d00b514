import assert from "node:assert/strict";
import test from "node:test";
import { viewOf } from "../../../../static/js/panes/times/diagnosis.js";

const stages = ["import", "fuse", "cleanup", "fuse", "cleanup"].map((name, stage) => ({ name, stage }));
const result = /** @type {any} */ ({ stages });

test("a missed fusion is explained by the declined rewrites of the last fusing pass", () => {
  assert.deepEqual(viewOf("fuse", result), { pane: "steps", outcome: "declined", stage: 3 });
});

test("without the pass, the pane stays at its stage", () => {
  assert.deepEqual(viewOf("layout", result), { pane: "steps", outcome: "declined" });
});

test("an action on the options of the compilation has no view of the result", () => {
  assert.equal(viewOf("threads", result), null);
  assert.deepEqual(viewOf("tune", result), { pane: "tuning" });
});
