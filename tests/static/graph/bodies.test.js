import assert from "node:assert/strict";
import test from "node:test";
import { Graphviz } from "@hpcc-js/wasm-graphviz";
import { readLayout } from "../../../static/js/graph/dot_layout.js";
import { toDot, toSvg } from "../../../static/js/graph/export.js";
import { markedNodes } from "../../../static/js/graph/framing.js";
import { headerOf, isOnTriangle, nodeAt } from "../../../static/js/graph/hit.js";
import { countBoxes, headersOf, layoutNested, openGroups } from "../../../static/js/graph/nesting.js";
import { placeUnion } from "../../../static/js/graph/places.js";
import { piecesAt, piecesBetween } from "../../../static/js/graph/pieces.js";
import { buildScene } from "../../../static/js/graph/scene.js";
import { searchNodes } from "../../../static/js/graph/search.js";
import { neighboursOf, walk } from "../../../static/js/graph/walk.js";

// x -> If y -> z; the branch of y reads x: a -> b. A pass removes a.
/** @type {import("../../../static/js/wire.js").Inside} */
const THEN = ["y", "then_branch"];
const [A, B] = ["y→then_branch→a", "y→then_branch→b"];
const drawn = (/** @type {string} */ key, /** @type {string} */ id, /** @type {string} */ group) => ({
  key,
  id,
  group,
  stages: /** @type {[number, number][]} */ ([[0, 2]]),
  width: 72,
  height: 40,
});
const box = (/** @type {string} */ key) => `${key} [width=1 height=0.556];`;
const head = 'digraph union { node [shape=box fixedsize=true label=""] edge [arrowhead=none]';
/** @type {import("../../../static/js/wire.js").Union} */
const union = {
  dot: `${head} ${box("n0")} ${box("r0")} ${box("n4")} n0 -> r0 [headport=n] r0 -> n4 [tailport=s] }\n`,
  n_nodes: 5,
  n_drawn: 4,
  collapsed: false,
  nodes: [drawn("n0", "x", ""), drawn("n1", "y", "r0"), drawn("n2", A, "r0"), drawn("n3", B, "r0"), drawn("n4", "z", "")],
  groups: [
    {
      key: "r0",
      label: "",
      kind: "region",
      times: 1,
      group: "",
      open: true,
      width: 88,
      height: 40,
      node: "y",
      dot: `${head} ${box("n2")} ${box("n3")} {rank=min into [shape=point width=0.01 height=0.01]} into -> n2 n2 -> n3 into -> n3 }\n`,
    },
  ],
};

/** @returns {import("../../../static/js/wire.js").GraphNode} */
const node = (/** @type {string} */ id, /** @type {string} */ op, /** @type {string[]} */ inputs, /** @type {object} */ rest = {}) => ({
  id,
  kind: "node",
  name: id,
  op,
  family: op === "onnx.If" ? "control" : "elementwise",
  outputs: [id.split("→").at(-1) ?? ""],
  types: ["f32[2]"],
  inputs,
  attrs: {},
  origins: [id],
  regions: {},
  ...rest,
});
/** @type {import("../../../static/js/wire.js").StageGraph} */
const before = {
  stage: 0,
  graph_stage: 0,
  name: "imported",
  added: [],
  changed: [],
  refined: [],
  removed: [],
  constants: [],
  nodes: [
    node("x", "input", [], { kind: "input" }),
    node("y", "onnx.If", []),
    node(A, "relu", ["x"], { inside: THEN }),
    node(B, "exp", ["a"], { inside: THEN }),
    node("z", "tanh", ["y"]),
  ],
  edges: [["x", A, 0, "x"], [A, B, 0, "a"], ["y", "z", 0, "y"]],
};
/** @type {import("../../../static/js/wire.js").StageGraph} */
const after = {
  ...before,
  stage: 1,
  graph_stage: 1,
  name: "simplify",
  changed: [B],
  removed: [A],
  nodes: before.nodes.filter(({ id }) => id !== A),
  edges: [["x", B, 0, "x"], ["y", "z", 0, "y"]],
};

const graphviz = await Graphviz.load();
const layout = async (/** @type {string[]} */ dots) =>
  dots.map((dot) => readLayout(graphviz.layout(dot, /** @type {any} */ ("json0"), "dot")));

/** @param {string[]} toggled */
async function sceneOf(toggled, now = after) {
  const open = openGroups(union, toggled);
  return buildScene(placeUnion(union, open, await layoutNested(union, open, layout)), before, now, "diff", true);
}
const open = await sceneOf([]);
const closed = await sceneOf(["-r0"]);

test("a control-flow node is one box when closed, and the frame of its body when open", () => {
  assert.deepEqual([countBoxes(union, new Set(["r0"])), countBoxes(union, new Set())], [4, 3]);
  assert.deepEqual([...headersOf(union)], [["y", "r0"]]);
  assert.deepEqual(closed.nodes.map(({ key }) => key), ["n0", "r0", "n4"]);
  assert.deepEqual(open.nodes.map(({ key }) => key).sort(), ["n0", "n2", "n3", "n4"]);
  for (const scene of [open, closed]) {
    const header = scene.byKey.get("r0");
    assert.equal(scene.keyOf.get("y"), "r0");
    assert.deepEqual([header?.id, header?.node?.op, header?.label, header?.hasBodies], ["y", "onnx.If", "onnx.If", true]);
  }
});

test("changes inside a body are counted at the node, and only the changed nodes are marked", () => {
  for (const scene of [open, closed]) {
    assert.deepEqual(scene.byKey.get("r0")?.marks, { added: 0, removed: 1, changed: 1, refined: 0 });
    assert.equal(scene.byKey.get("r0")?.status, "changed");
  }
  assert.deepEqual(markedNodes(open).map(({ id }) => id), [A, B]);
  assert.deepEqual(markedNodes(closed).map(({ id }) => id), ["y"]);
});

test("a node with refined types is refined if nothing else inside it differs", async () => {
  const refined = await sceneOf([], { ...after, changed: [], refined: ["y", B], removed: [] });
  assert.equal(refined.byKey.get("r0")?.status, "refined");
  const both = await sceneOf([], { ...after, refined: ["y"] });
  assert.equal(both.byKey.get("r0")?.status, "changed");
});

test("edges from captured values lead into an open body, and end at a closed node", () => {
  assert.deepEqual(piecesBetween(open.places, "x", A), [["n0", "r0"], ["r0", "n2"]]);
  assert.deepEqual(piecesBetween(closed.places, "x", A), [["n0", "r0"]]);
  assert.deepEqual(piecesBetween(open.places, "y", "z"), [["r0", "n4"]]);
  // The open node stands for itself, the closed node also for its body.
  assert.deepEqual([...piecesAt(open, new Set(["r0"]))], ["r0 n4"]);
  assert.deepEqual([...piecesAt(closed, new Set(["r0"]))].sort(), ["n0 r0", "r0 n4"]);
  assert.deepEqual([...neighboursOf(closed, new Set(["r0"])).before], ["n0"]);
  assert.deepEqual([...neighboursOf(open, new Set(["r0"])).after], ["n4"]);
});

test("arrow keys enter a body along captured values, and leave it for the readers of the node", () => {
  assert.ok(["n2", "n3"].includes(walk(open, "n0", "after")));
  assert.equal(walk(open, "n2", "after"), "n3");
  assert.equal(walk(open, "n3", "after"), "n4");
  assert.equal(walk(open, "n2", "before"), "n0");
  assert.equal(walk(open, "n4", "before"), "r0");
  assert.equal(walk(open, "r0", "after"), "n2");
  assert.equal(walk(closed, "n0", "after"), "r0");
});

test("a search finds the node itself in an open drawing, and its body in a closed drawing", () => {
  assert.deepEqual(searchNodes(open, "onnx.if"), [{ key: "r0", id: "y", isHidden: false }]);
  assert.deepEqual(searchNodes(closed, "onnx.if"), [{ key: "r0", id: "y", isHidden: false }]);
  assert.deepEqual(searchNodes(open, "exp"), [{ key: "n3", id: B, isHidden: false }]);
  assert.deepEqual(searchNodes(closed, "exp"), [{ key: "r0", id: B, isHidden: true }]);
});

test("the triangle at the left opens or closes the body; the rest of the box selects the node", () => {
  const frame = /** @type {import("../../../static/js/graph/scene.js").SceneNode} */ (open.byKey.get("r0"));
  const header = headerOf(frame);
  const left = { x: frame.x - frame.w / 2 + 8, y: header.y };
  assert.equal(nodeAt(open, left), frame);
  assert.equal(isOnTriangle(frame, left), true);
  assert.equal(isOnTriangle(frame, { x: frame.x, y: header.y }), false);
  const shut = /** @type {import("../../../static/js/graph/scene.js").SceneNode} */ (closed.byKey.get("r0"));
  assert.equal(isOnTriangle(shut, { x: shut.x - shut.w / 2 + 8, y: shut.y }), true);
});

test("exported drawings contain the frame of an open body", () => {
  const colors = /** @type {any} */ ({ paper: "white", ink: "black", muted: "gray", lineStrong: "gray", sans: "a", status: {} });
  const svg = toSvg(open, colors, () => ({ stroke: "blue", fill: "pink" }));
  assert.match(svg, /<title>y<\/title>/);
  assert.match(toDot(open), /r0 \[label="onnx.If/);
});
