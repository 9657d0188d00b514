import assert from "node:assert/strict";
import test from "node:test";
import { clampStage, firstChange, mostSaved, nextStage, ownGraphs, stageTitle } from "../../../static/js/results/stages.js";

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

test("a stage that no pass made has no number, and is not the first change", () => {
  const named = /** @type {import("../../../static/js/wire.js").Stage[]} */ (
    [["imported", null], ["specialise", null], ["a", 1], ["fuse", 2]].map(
      ([name, pass_number], stage) => /** @type {any} */ ({ stage, name, pass_number, changed: name !== "a" }),
    )
  );
  assert.deepEqual(named.slice(1).map(stageTitle), ["specialise", "1 a", "2 fuse"]);
  assert.equal(stageTitle(undefined), "");
  assert.equal(firstChange(named)?.name, "fuse");
});

/** Stages from [bytes of values, bytes of constants, nodes, applied rewrites]. @param {number[][]} rows */
const saving = (rows) =>
  /** @type {import("../../../static/js/wire.js").Stage[]} */ (
    rows.map(([value_bytes, constant_bytes, n_nodes, n_applied], stage) => {
      const changed = stage > 0 && String(rows[stage]) !== String(rows[stage - 1]);
      const pass_number = stage || null;
      return /** @type {any} */ ({ stage, pass_number, value_bytes, constant_bytes, n_nodes, n_applied, changed });
    })
  );

test("the walk opens at the pass that saved most bytes, of values and constants together", () => {
  assert.equal(mostSaved(saving([[90, 10, 9, 0], [90, 10, 8, 1], [50, 10, 8, 1], [40, 10, 4, 1]])), 2);
  // Fewer values are no saving if they became constants.
  assert.equal(mostSaved(saving([[90, 10, 9, 0], [50, 50, 5, 1], [40, 50, 4, 1]])), 2);
});

test("without saved bytes the removed nodes decide, then the first rewrite, then the first change", () => {
  assert.equal(mostSaved(saving([[0, 10, 9, 0], [20, 10, 9, 0], [20, 10, 8, 1], [20, 10, 6, 1]])), 3);
  assert.equal(mostSaved(saving([[0, 10, 9, 0], [20, 10, 9, 0], [21, 10, 9, 1], [22, 10, 9, 1]])), 2);
  assert.equal(mostSaved(saving([[0, 10, 9, 0], [20, 10, 9, 0]])), 1);
});

test("the import is shown if no pass changed the graph, and the first of equal savings", () => {
  assert.equal(mostSaved(saving([[5, 5, 2, 0], [5, 5, 2, 0]])), 0);
  assert.equal(mostSaved(saving([[30, 0, 3, 0], [20, 0, 3, 1], [10, 0, 3, 1]])), 1);
});
