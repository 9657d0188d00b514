import assert from "node:assert/strict";
import test from "node:test";
import { nameOf, subOf, valueOf } from "../../../static/js/graph/labels.js";

/** @type {(outputs: string[], types: string[]) => any} */
const node = (outputs, types) => ({ id: "old", kind: "node", name: "lstm", outputs, types });

test("a box shows the type of its first output that is not omitted", () => {
  assert.equal(subOf(node(["", "h"], ["f32[8,1,N,48]", "f32[1,N,48]"])), "1×N×48");
  assert.equal(subOf(node(["y"], ["i8[2,3]{c16}"])), "i8 2×3 c16");
});

test("a node is named by the value that it computes now, not by its id", () => {
  assert.equal(valueOf(node(["", "h"], [])), "h");
  assert.equal(valueOf(node([], [])), "old");
  assert.equal(valueOf({ ...node([], []), kind: "result" }), "lstm");
});

test("among the nodes of all bodies, a node in a body is named by its id", () => {
  assert.equal(nameOf(node(["h"], [])), "h");
  assert.equal(nameOf({ ...node(["h"], []), inside: ["y", "body"] }), "old");
});
