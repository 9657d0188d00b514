// Tests of graphs reconstructed from deltas, against the graphs of the server.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { applyDelta, join } from "../../../static/js/results/deltas.js";
import { ownGraphs } from "../../../static/js/results/stages.js";

/** @param {string} name */
const golden = (name) =>
  JSON.parse(readFileSync(new URL(`../../golden/wire/${name}.json`, import.meta.url), "utf8"));

test("applying all deltas of a trace gives its last graph", () => {
  const stages = ownGraphs(golden("result").stages);
  assert.ok(stages.length > 5);
  let graph = null;
  for (const { stage } of stages) graph = applyDelta(graph, golden(`stage-${stage}-delta`));
  assert.deepEqual(graph, golden(`stage-${stages[stages.length - 1].stage}-graph`));
});

test("items that a pass did not change are the same objects", () => {
  const stages = ownGraphs(golden("result").stages);
  const first = applyDelta(null, golden("stage-0-delta"));
  const second = applyDelta(first, golden(`stage-${stages[1].stage}-delta`));
  const old = new Map(first.nodes.map((node) => [node.id, node]));
  const kept = second.nodes.filter((node) => old.get(node.id) === node);
  const touched = new Set([...second.added, ...second.changed, ...second.refined]);
  assert.ok(kept.length >= second.nodes.filter(({ id }) => !touched.has(id)).length - 2);
  assert.ok(kept.length > 0);
});

test("a delta applies only to the graph from which it was computed", () => {
  const first = applyDelta(null, golden("stage-0-delta"));
  assert.throws(() => applyDelta(first, golden("stage-0-delta")), /applies to stage -1/);
});

test("pieces retain ranges and add items, in any order", () => {
  assert.deepEqual(join(["a", "b", "c", "d"], [[2, 4, ["x"]], [0, 1, []], [0, 0, ["y", "z"]]]), ["c", "d", "x", "a", "y", "z"]);
});
