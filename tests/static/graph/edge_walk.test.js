import assert from "node:assert/strict";
import test from "node:test";
import { edgeOf, edgeText, edgesAt, nextEdge } from "../../../static/js/graph/edge_walk.js";

/** @param {string[]} ids @param {[string, string, number, string][]} edges */
const graph = (ids, edges) => /** @type {any} */ ({ nodes: ids.map((id) => ({ id })), edges });
const after = graph(
  ["x", "w", "h", "y", "z"],
  [["w", "h", 1, "w"], ["x", "h", 0, "x"], ["h", "y", 0, "h"], ["h", "y", 1, "h"], ["h", "z", 0, "h"]],
);
const before = graph(["x", "g"], [["x", "g", 0, "x"]]);
/** @param {string} id */
const texts = (id) => edgesAt({ before, after }, id).map(({ from, to }) => `${from} ${to}`);

test("the edges of a node are its operands in order, then each reader once", () => {
  assert.deepEqual(texts("h"), ["x h", "w h", "h y", "h z"]);
  assert.deepEqual(texts("g"), ["x g"]);
  assert.deepEqual(texts("x"), ["x h"]);
  assert.deepEqual(texts("nobody"), []);
});

test("stepping through the edges wraps around in both directions", () => {
  const edges = edgesAt({ before, after }, "h");
  const text = edges.map(edgeText);
  assert.equal(nextEdge(edges, "", 1)?.at, 0);
  assert.equal(nextEdge(edges, "", -1)?.at, 3);
  assert.equal(nextEdge(edges, text[3], 1)?.at, 0);
  assert.equal(nextEdge(edges, text[0], -1)?.at, 3);
  assert.equal(nextEdge(edges, "gone\tgone", 1)?.at, 0);
  assert.equal(nextEdge([], "", 1), null);
});

test("an edge survives conversion to text, and an invalid text gives no edge", () => {
  const edge = { from: "conv 1/a", to: "→y" };
  assert.deepEqual(edgeOf(edgeText(edge)), edge);
  for (const text of ["", "a", "a\t", "\tb", "a\tb\tc"]) assert.equal(edgeOf(text), null);
});
