import assert from "node:assert/strict";
import test from "node:test";
import { clampStage, nextStage, ownGraphs } from "../../../static/js/results/stages.js";

/** Stages from what each changed: the first is the import. @param {boolean[]} changes */
function stagesOf(changes) {
  let graph_stage = 0;
  return /** @type {import("../../../static/js/wire.js").Stage[]} */ (
    changes.map((changed, stage) => {
      if (changed) graph_stage = stage;
      return /** @type {any} */ ({ stage, changed, graph_stage });
    })
  );
}
const stages = stagesOf([true, false, true, false, false, true, false]);

test("shortcuts skip passes without changes", () => {
  assert.equal(nextStage(stages, 0, 1, false), 2);
  assert.equal(nextStage(stages, 2, 1, false), 5);
  assert.equal(nextStage(stages, 5, -1, false), 2);
  assert.equal(nextStage(stages, 2, -1, false), 0);
});

test("every pass can be reached by shortcuts", () => {
  assert.equal(nextStage(stages, 2, 1, true), 3);
  assert.equal(nextStage(stages, 2, -1, true), 1);
});

test("the stage is unchanged if no pass follows", () => {
  assert.equal(nextStage(stages, 5, 1, false), 5);
  assert.equal(nextStage(stages, 0, -1, true), 0);
  assert.equal(nextStage(stagesOf([true]), 0, 1, true), 0);
});

test("each changed stage has a separate graph", () => {
  assert.deepEqual(
    ownGraphs(stages).map((each) => each.stage),
    [0, 2, 5],
  );
});

test("a stage number in a link is clamped to the existing stages", () => {
  assert.equal(clampStage(stages, 99), 6);
  assert.equal(clampStage(stages, -3), 0);
});
