import assert from "node:assert/strict";
import test from "node:test";
import { edgeIndexSteps, incidentEdges } from "../../../static/js/graph/edge_index.js";

/** @typedef {import("../../../static/js/wire.js").StageGraph} StageGraph */

// Each node reads one or two earlier nodes; one node reads the same node twice.
const N = 1700;
/** @type {StageGraph["edges"]} */
const edges = [];
for (let i = 1; i < N; i++) {
  edges.push([`v${(i * 7) % i}`, `v${i}`, 0, "a"]);
  if (i % 3 === 0) edges.push([`v${i >> 1}`, `v${i}`, 1, "b"]);
  if (i === 40) edges.push(["v20", "v40", 2, "b"]);
}
/** @type {StageGraph} */
const graph = { stage: 0, graph_stage: 0, name: "", constants: [], added: [], changed: [], refined: [], removed: [], nodes: [], edges };

test("the index finds the same edges of a node, in the same order, as a search of all edges", () => {
  for (const id of ["v0", "v1", "v20", "v40", "v850", `v${N - 1}`])
    assert.deepEqual(incidentEdges(graph, id), edges.filter(([from, to]) => from === id || to === id));
  assert.deepEqual(incidentEdges(graph, "w"), []);
});

test("the index is built in several steps and only once", () => {
  const fresh = { ...graph, edges: [...edges] };
  assert.ok([...edgeIndexSteps(fresh)].length >= 4);
  assert.equal([...edgeIndexSteps(fresh)].length, 0);
});
