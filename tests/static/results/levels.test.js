import assert from "node:assert/strict";
import test from "node:test";
import { bodiesOf, definesAny, operandsOf, valuesOf } from "../../../static/js/results/levels.js";
import { selectValues } from "../../../static/js/state/selection.js";

/** @returns {import("../../../static/js/wire.js").GraphNode} */
const node = (/** @type {string} */ id, /** @type {string[]} */ outputs, /** @type {string[]} */ inputs, /** @type {object} */ rest = {}) => ({
  id,
  kind: "node",
  name: id,
  op: "relu",
  family: "elementwise",
  outputs,
  types: outputs.map(() => "f32[2]"),
  inputs,
  attrs: {},
  origins: [`/${id}`],
  regions: {},
  ...rest,
});
const inner = node("y→body→t", ["t", "", "u"], ["x", "w", ""], { inside: ["y", "body"] });
const outer = node("t", ["t", "u"], ["y"]);
const constant = { name: "y→body→w", value: "w", type: "f32[2]", storage: "literal", text: "", bytes: 8, stored_bytes: 8, origins: ["/w"], readers: [inner.id] };
const graph = /** @type {import("../../../static/js/wire.js").StageGraph} */ (
  /** @type {any} */ ({
    nodes: [node("x", ["x"], []), node("y", ["y"], []), inner, outer],
    edges: [["x", inner.id, 0, "x"], ["y", "t", 0, "y"]],
    constants: [{ ...constant, name: "w", value: undefined, readers: ["t"] }, constant],
  })
);

test("the ids of values inside a body name the body", () => {
  assert.deepEqual(valuesOf(inner), ["y→body→t", "y→body→u"]);
  assert.deepEqual(valuesOf(outer), ["t", "u"]);
  assert.equal(definesAny(inner, new Set(["t"])), false);
  assert.equal(definesAny(inner, new Set(["y→body→u"])), true);
});

test("a node that computes another value than its id is found by both, but only outside bodies by name", () => {
  const kept = node("c", ["n", "u"], []);
  assert.deepEqual(valuesOf(kept), ["c", "n", "u"]);
  assert.equal(selectValues([{ ...graph, nodes: [kept] }], ["n"]).at, "c");
});

test("a value that a step names is the value of that body, not one of the same name", () => {
  assert.equal(selectValues([graph], ["t"]).at, "t");
  assert.equal(selectValues([graph], ["y→body→u"]).at, "y→body→t");
  assert.deepEqual(selectValues([graph], ["y→body→w"]).selection, ["/w"]);
});

test("operands of a node in a body are captured values, its constants, or omitted", () => {
  const [x, w, none] = operandsOf(inner, graph, graph.edges);
  assert.deepEqual([x.maker?.id, x.constant], ["x", null]);
  assert.deepEqual([w.maker, w.constant?.name], [null, "y→body→w"]);
  assert.deepEqual(none, { name: "", maker: null, constant: null });
});

test("the bodies of a node are listed by region", () => {
  assert.deepEqual([...bodiesOf(graph.nodes[1], graph)], [["body", [inner]]]);
});
