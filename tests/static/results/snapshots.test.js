import assert from "node:assert/strict";
import test from "node:test";
import { chosenBase, comparedWith, differs, markedAgainst, marksOf } from "../../../static/js/results/snapshots.js";

/** @type {any} */
const STAGES = [0, 1, 1, 3].map((graph_stage, stage) => ({ stage, graph_stage }));

/** @type {(id: string, op: string, inputs: string[]) => any} */
const node = (id, op, inputs) => ({
  id, op, inputs, name: id, outputs: [id], types: ["f32[2,3]"], attrs: {}, origins: [id], regions: {},
});
/** @type {(nodes: any[], constants: any[]) => any} */
const graph = (nodes, constants) => ({ nodes, constants, edges: [], added: [], changed: ["stale"], refined: ["stale"], removed: ["stale"] });

test("a stage is compared with the previous stage, or with any other stage", () => {
  assert.equal(comparedWith(STAGES, 3, -1), 2);
  assert.equal(comparedWith(STAGES, 3, 0), 0);
  assert.equal(comparedWith(STAGES, 1, 3), 3);
  assert.equal(comparedWith(STAGES, 0, -1), -1);
  assert.equal(comparedWith(STAGES, 2, 99), 1);
});

test("a missing stage is not selected", () => {
  assert.equal(chosenBase(STAGES, 3), 3);
  assert.equal(chosenBase(STAGES, 4), -1);
  assert.equal(chosenBase(STAGES, -7), -1);
  assert.equal(chosenBase([], 0), -1);
});

test("stages that share a graph do not differ", () => {
  assert.equal(differs(STAGES, 2, -1), false);
  assert.equal(differs(STAGES, 2, 0), true);
  assert.equal(differs(STAGES, 0, -1), false);
});

test("marks show the differences from the other graph", () => {
  const before = graph([node("a", "add", ["x", "y"]), node("b", "relu", ["a"])], [{ name: "w", type: "f32[2]", text: "1" }]);
  const after = graph([node("a", "add", ["y", "x"]), node("c", "neg", ["a"])], [{ name: "v", type: "f32[3]", text: "2" }]);
  const found = markedAgainst(after, before);
  assert.deepEqual([...marksOf(found)], [["c", "added"], ["v", "added"], ["a", "changed"]]);
  assert.deepEqual(found.removed, ["b", "w"]);
  const same = markedAgainst(graph([node("a", "add", ["x", "y"])], []), graph([node("a", "add", ["x", "y"])], []));
  assert.deepEqual([same.added, same.changed, same.removed], [[], [], []]);
});

test("a node whose open sizes became numbers has refined types", () => {
  const typed = (/** @type {string} */ type) => ({ ...node("a", "add", ["x", "y"]), types: [type] });
  const found = (/** @type {string} */ was, /** @type {string} */ now) => {
    const { changed, refined } = markedAgainst(graph([typed(now)], []), graph([typed(was)], []));
    return [changed, refined];
  };
  assert.deepEqual(found("f32[N,3]", "f32[2,3]"), [[], ["a"]]);
  assert.deepEqual(found("f32[...]", "f32[2,3]"), [[], ["a"]]);
  assert.deepEqual(found("f32[2*N+1]", "f32[5]"), [[], ["a"]]);
  assert.deepEqual(found("f32[2,3]", "f32[4,3]"), [["a"], []]);
  assert.deepEqual(found("f32[N,3]", "f16[2,3]"), [["a"], []]);
  assert.deepEqual(found("f32[1,16]", "f32[1,16]{c16}"), [["a"], []]);
});
