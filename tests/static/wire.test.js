// Tests of the page with one complete result of the server.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { Graphviz } from "@hpcc-js/wasm-graphviz";
import { applyDelta } from "../../static/js/results/deltas.js";
import { readLayout } from "../../static/js/graph/dot_layout.js";
import { layoutNested, openGroups, piecesOf } from "../../static/js/graph/nesting.js";
import { FAMILIES } from "../../static/js/elements/families.js";
import { placeUnion } from "../../static/js/graph/places.js";
import { buildScene } from "../../static/js/graph/scene.js";
import { layoutMemory } from "../../static/js/charts/memory_map.js";
import { enabledPipeline, parsePipeline } from "../../static/js/text/pipeline_text.js";
import {
  selectNode,
  selectedBuffers,
  selectedIds,
  selectedKernels,
  shownKernel,
} from "../../static/js/state/selection.js";
import { ownGraphs } from "../../static/js/results/stages.js";

/** @param {string} name */
const golden = (name) =>
  JSON.parse(readFileSync(new URL(`../golden/wire/${name}.json`, import.meta.url), "utf8"));
/** @type {import("../../static/js/wire.js").Result} */
const result = golden("result");
/** @type {import("../../static/js/wire.js").Provenance} */
const provenance = golden("provenance");
/** @type {Map<number, import("../../static/js/wire.js").StageGraph>} */
const graphs = new Map();
for (const { stage } of ownGraphs(result.stages)) {
  const before = [...graphs.values()].pop() ?? null;
  graphs.set(stage, applyDelta(before, golden(`stage-${stage}-delta`)));
}
const graphviz = await Graphviz.load();
const union = golden("union");
const open = openGroups(union, []);
const layouts = await layoutNested(union, open, async (dots) =>
  dots.map((dot) => readLayout(graphviz.layout(dot, /** @type {any} */ ("json0"), "dot"))),
);
const places = placeUnion(union, open, layouts);

/** @param {number} stage @param {import("../../static/js/state/url.js").View} view */
function sceneOf(stage, view) {
  const row = result.stages[stage];
  const after = graphs.get(row.graph_stage);
  assert.ok(after);
  return buildScene(
    places,
    graphs.get(result.stages[stage - 1]?.graph_stage ?? -1) ?? null,
    after,
    view,
    row.changed,
  );
}

test("a chain of nodes is one vertical line", () => {
  const imported = graphs.get(0);
  assert.ok(imported && imported.nodes.length > 10);
  const columns = new Set(imported.nodes.map(({ id }) => places.placeOf.get(id)?.x.toFixed(1)));
  assert.equal(columns.size, 1);
});

test("every node of every stage has a position, and every edge a path", () => {
  for (const { stage, graph_stage } of result.stages) {
    const graph = graphs.get(graph_stage);
    const scene = sceneOf(stage, "after");
    const shown = new Set(scene.nodes.filter((node) => node.shown).flatMap((node) => node.ids));
    for (const node of graph?.nodes ?? [])
      assert.ok(shown.has(node.id), `${node.id} of stage ${stage}`);
    const paths = new Set(
      scene.edges.filter((edge) => edge.shown).map((edge) => `${edge.from} ${edge.to}`),
    );
    for (const [source, target] of graph?.edges ?? []) {
      const [a, b] = [places.placeOf.get(source), places.placeOf.get(target)];
      assert.ok(a && b);
      for (const [from, to] of piecesOf(a, b)) assert.ok(paths.has(`${from} ${to}`), `${source} to ${target}`);
    }
  }
});

test("the marks of a stage are the differences between its graphs", () => {
  for (const { stage, changed } of result.stages.slice(1)) {
    const scene = sceneOf(stage, "diff");
    const marks = scene.nodes.filter((node) => node.shown && node.status !== "same");
    if (!changed) assert.equal(marks.length, 0);
    const [before, after] = [
      graphs.get(result.stages[stage - 1]?.graph_stage ?? -1),
      graphs.get(result.stages[stage].graph_stage),
    ];
    const [old, now] = [
      new Set(before?.nodes.map((n) => n.id)),
      new Set(after?.nodes.map((n) => n.id)),
    ];
    for (const { id, status } of marks) {
      if (status === "added") assert.ok(!old.has(id) && now.has(id));
      if (status === "removed") assert.ok(old.has(id) && !now.has(id));
      if (status === "changed") assert.ok(old.has(id) && now.has(id));
    }
    for (const id of now)
      if (!old.has(id))
        assert.ok(
          marks.some((node) => node.id === id && node.status === "added"),
          id,
        );
  }
});

test("every operator family of the server is in the legend", () => {
  for (const graph of graphs.values())
    for (const { family } of graph.nodes)
      assert.ok(
        FAMILIES.some((each) => each === family),
        family,
      );
});

test("a selected imported node is found in the last graph, in kernels and in buffers", () => {
  const first = graphs.get(0);
  const last = [...graphs.values()].pop();
  assert.ok(first && last);
  const node = first.nodes.find((each) => each.family === "contraction");
  assert.ok(node);
  const selected = selectNode(node);
  assert.ok(selectedIds(last.nodes, selected).size > 0);
  assert.ok(selectedKernels(result, selected.selection).length > 0);
  assert.ok(selectedBuffers(provenance, selected.selection).size > 0);
  const kernel = shownKernel(result, selected);
  assert.ok(kernel && kernel.origins.some((origin) => node.origins.includes(origin)));
});

test("the memory chart stays within the arena, and its extent is at least the live bytes", () => {
  const { memory } = result;
  assert.ok(memory);
  const { rects, plot } = layoutMemory(memory, { width: 600, height: 400 });
  for (const { buffer, x, y, w, h } of rects) {
    assert.ok(x >= plot.left - 1e-6 && x + w <= plot.right + 1e-6, buffer.name);
    assert.ok(y >= plot.top - 1e-6 && y + h <= plot.bottom + 1e-6, buffer.name);
  }
  assert.ok(Math.max(...memory.live_bytes) <= memory.peak_bytes);
});

test("the presets are parsed and printed unchanged", () => {
  for (const { text } of golden("pipelines").presets)
    assert.equal(enabledPipeline(parsePipeline(text)), text);
});
