import assert from "node:assert/strict";
import test from "node:test";
import { Graphviz } from "@hpcc-js/wasm-graphviz";
import { readLayout } from "../../../static/js/graph/dot_layout.js";
import {
  countBoxes,
  layoutNested,
  nest,
  openGroups,
  pathsOf,
  piecesOf,
  toggle,
} from "../../../static/js/graph/nesting.js";
import { synchronously } from "../../../static/js/elements/scheduling.js";

// x -> [ a -> ( b -> c ) ] -> y, and x -> y; the inner group is g1.
const group = { label: "layer", times: 1, kind: /** @type {const} */ ("scope"), width: 176, height: 48 };
const node = (/** @type {string} */ id, /** @type {number} */ i, /** @type {string} */ within) => ({
  key: `n${i}`,
  id,
  group: within,
  stages: /** @type {[number, number][]} */ ([[0, 1]]),
  width: 72,
  height: 40,
});
const box = (/** @type {string} */ key) => `${key} [width=1 height=0.556];`;
const head = "digraph union { node [shape=box fixedsize=true label=\"\"] edge [arrowhead=none]";
const port = (/** @type {string} */ name, /** @type {string} */ rank) =>
  `{rank=${rank} ${name} [shape=point width=0.01 height=0.01]}`;
/** @type {import("../../../static/js/wire.js").Union} */
const union = {
  dot: `${head} ${box("n0")} g0 [width=2.4 height=0.667]; ${box("n4")} n0 -> g0 [headport=n] g0 -> n4 [tailport=s] n0 -> n4 }\n`,
  n_nodes: 5,
  n_drawn: 5,
  collapsed: false,
  nodes: [node("x", 0, ""), node("a", 1, "g0"), node("b", 2, "g1"), node("c", 3, "g1"), node("y", 4, "")],
  groups: [
    { ...group, key: "g0", group: "", open: true, dot: `${head} ${box("n1")} g1 [width=2.4 height=0.667]; ${port("into", "min")} ${port("out_of", "max")} into -> n1 n1 -> g1 [headport=n] g1 -> out_of [tailport=s] }\n` },
    { ...group, key: "g1", group: "g0", open: true, dot: `${head} ${box("n2")} ${box("n3")} ${port("into", "min")} ${port("out_of", "max")} into -> n2 n2 -> n3 n3 -> out_of }\n` },
  ],
};
const graphviz = await Graphviz.load();
/** @type {string[][]} */
const asked = [];
const layout = async (/** @type {string[]} */ dots) => {
  asked.push(dots);
  return dots.map((dot) => readLayout(graphviz.layout(dot, /** @type {any} */ ("json0"), "dot")));
};

test("groups are open as in the union, except for toggled groups and groups inside closed groups", () => {
  assert.deepEqual([...openGroups(union, [])], ["g0", "g1"]);
  assert.deepEqual([...openGroups(union, ["-g1", "g9"])], ["g0"]);
  assert.deepEqual([...openGroups(union, ["-g0"])], []);
  const shut = { ...union, groups: union.groups.map((each) => ({ ...each, open: false })) };
  assert.deepEqual([...openGroups(shut, ["g1"])], []);
  assert.deepEqual([...openGroups(shut, ["g0"])], ["g0"]);
});

test("toggling stores only differences from the initial drawing, and a second toggle removes them", () => {
  assert.deepEqual(toggle(union, [], ["g1"], false), ["-g1"]);
  assert.deepEqual(toggle(union, ["-g1"], ["g1"], true), []);
  assert.deepEqual(toggle(union, ["-g1"], ["g0"], false), ["-g1", "-g0"]);
  assert.deepEqual(toggle(union, [], ["g0", "nobody"], true), []);
});

test("a closed group counts as one box, and an open group as no box", () => {
  assert.equal(countBoxes(union, new Set(["g0", "g1"])), 5);
  assert.equal(countBoxes(union, new Set(["g0"])), 4);
  assert.equal(countBoxes(union, new Set()), 3);
  assert.deepEqual(pathsOf(union).get("g1"), ["g0", "g1"]);
});

test("the members of a group are drawn inside its frame, and frames are nested", async () => {
  const open = openGroups(union, []);
  const { boxes, frames } = synchronously(nest(union, open, await layoutNested(union, open, layout)));
  const inside = (/** @type {any} */ a, /** @type {any} */ b) =>
    Math.abs(a.x - b.x) <= (b.w - a.w) / 2 && Math.abs(a.y - b.y) <= (b.h - a.h) / 2;
  const [outer, inner] = frames;
  assert.deepEqual([outer.key, inner.key], ["g0", "g1"]);
  assert.ok(inside(inner, outer));
  for (const each of boxes) {
    assert.equal(inside(each, outer), each.around.includes("g0"), each.key);
    assert.equal(inside(each, inner), each.around.includes("g1"), each.key);
  }
  assert.deepEqual(outer.ids, ["a", "b", "c"]);
  assert.deepEqual(boxes.find(({ key }) => key === "n2")?.around, ["g0", "g1"]);
});

test("the segments of an edge meet at the border of a group", async () => {
  const open = openGroups(union, []);
  const { edges } = synchronously(nest(union, open, await layoutNested(union, open, layout)));
  const piece = (/** @type {string} */ from, /** @type {string} */ to) => {
    const found = edges.find((edge) => edge.from === from && edge.to === to);
    assert.ok(found, `${from} to ${to}`);
    return found;
  };
  const near = (/** @type {number[]} */ a, /** @type {number[]} */ b) =>
    assert.ok(Math.hypot(a[0] - b[0], a[1] - b[1]) < 1.5, `${a} and ${b}`);
  near(piece("n0", "g0").path.slice(-2), piece("g0", "n1").path.slice(0, 2));
  near(piece("n1", "g1").path.slice(-2), piece("g1", "n2").path.slice(0, 2));
  near(piece("n3", "g1").path.slice(-2), piece("g1", "g0").path.slice(0, 2));
  near(piece("g1", "g0").path.slice(-2), piece("g0", "n4").path.slice(0, 2));
  assert.deepEqual(
    edges.filter(({ ends }) => ends).map(({ from, to }) => `${from} ${to}`).sort(),
    ["g0 n1", "g0 n4", "g1 n2", "n0 n4", "n2 n3"],
  );
});

test("an edge is divided into segments at the groups that it crosses", () => {
  const at = (/** @type {string} */ key, /** @type {string[]} */ around) => ({ key, around });
  const [x, a, b, y] = [at("n0", []), at("n1", ["g0"]), at("n2", ["g0", "g1"]), at("n4", [])];
  assert.deepEqual(piecesOf(x, y), [["n0", "n4"]]);
  assert.deepEqual(piecesOf(x, b), [["n0", "g0"], ["g0", "g1"], ["g1", "n2"]]);
  assert.deepEqual(piecesOf(b, a), [["n2", "g1"], ["g1", "n1"]]);
  assert.deepEqual(piecesOf(b, y), [["n2", "g1"], ["g1", "g0"], ["g0", "n4"]]);
  assert.deepEqual(piecesOf(at("g0", []), at("g0", [])), []);
});

test("a closed group needs no layout, and open groups of the same depth are requested together", async () => {
  asked.length = 0;
  await layoutNested(union, new Set(["g0"]), layout);
  assert.deepEqual(asked.map((dots) => dots.length), [1, 1]);
  asked.length = 0;
  const layouts = await layoutNested(union, new Set(), layout);
  assert.deepEqual(asked, [[union.dot]]);
  assert.equal(synchronously(nest(union, new Set(), layouts)).boxes.length, 3);
});
