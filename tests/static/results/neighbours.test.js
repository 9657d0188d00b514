import assert from "node:assert/strict";
import test from "node:test";
import { graphWithEdge, verdictsOn } from "../../../static/js/results/neighbours.js";

/** @type {(id: string, ...origins: string[]) => any} */
const node = (id, ...origins) => ({ id, kind: "node", origins, outputs: [id] });
/** @type {any} */
const GRAPH = {
  nodes: [{ id: "x", kind: "input", origins: [] }, node("a", "conv"), node("b", "relu", "add"), node("c", "pool")],
  edges: [["x", "a", 0, "x"], ["a", "b", 0, "a"], ["a", "b", 1, "a"], ["b", "c", 0, "b"]],
};
/** @type {any} */
const NEIGHBOURS = {
  edges: [
    { maker: "conv", reader: "relu", verdict: "together" },
    { maker: "conv", reader: "add", verdict: "apart" },
    { maker: "relu", reader: "add", verdict: "together" },
    { maker: "add", reader: "pool", verdict: "apart" },
  ],
};

test("an edge of a stage has the verdicts of the model edges from which it originates", () => {
  const [only] = verdictsOn(GRAPH.nodes[1], GRAPH, NEIGHBOURS);
  assert.equal(only.side, "read by");
  assert.deepEqual(only.answers.map((each) => each.reader), ["relu", "add"]);
});

test("the verdicts of a node cover its operands and readers, but not inputs", () => {
  const found = verdictsOn(GRAPH.nodes[2], GRAPH, NEIGHBOURS);
  assert.deepEqual(found.map(({ side, other }) => [side, other.id]), [["reads", "a"], ["read by", "c"]]);
  assert.deepEqual(verdictsOn(GRAPH.nodes[2], GRAPH, null), []);
});

test("the verdict on an edge that the pass removed comes from the graph before it", () => {
  const graph = (/** @type {any[]} */ ...edges) => ({ edges });
  const before = graph(["conv", "relu", 0, "conv"]);
  const after = graph(["x", "relu", 0, "x"]);
  assert.equal(graphWithEdge([after, null, before], { from: "conv", to: "relu" }), before);
  assert.equal(graphWithEdge([after, before], { from: "x", to: "relu" }), after);
  assert.equal(graphWithEdge([after, before], { from: "relu", to: "x" }), null);
  assert.equal(graphWithEdge([after], null), null);
});
