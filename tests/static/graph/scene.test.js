import assert from "node:assert/strict";
import test from "node:test";
import { Graphviz } from "@hpcc-js/wasm-graphviz";
import { fit, reveal, toDrawing, toScreen, zoomAt } from "../../../static/js/graph/camera.js";
import { readLayout } from "../../../static/js/graph/dot_layout.js";
import { nodeAt } from "../../../static/js/graph/hit.js";
import { shortType } from "../../../static/js/graph/labels.js";
import {
  boxOfKeys,
  firstLook,
  lookAtNodes,
  markedNodes,
  seesAny,
  wholeLook,
} from "../../../static/js/graph/framing.js";
import { placeUnion } from "../../../static/js/graph/places.js";
import { buildScene, countMarked, statesOfNodes } from "../../../static/js/graph/scene.js";
import { searchNodes } from "../../../static/js/graph/search.js";
import { neighboursOf, walk } from "../../../static/js/graph/walk.js";

/**
 * @param {string} id
 * @param {Partial<import("../../../static/js/wire.js").GraphNode>} [rest]
 * @returns {import("../../../static/js/wire.js").GraphNode}
 */
function node(id, rest = {}) {
  return {
    id,
    kind: "node",
    name: id,
    op: "relu",
    family: "elementwise",
    outputs: [id],
    types: ["f32[1,64]"],
    inputs: [],
    attrs: {},
    origins: [id],
    regions: {},
    ...rest,
  };
}
const input = node("x", { kind: "input", op: "input", family: "input", origins: [] });
const result = node("→y", {
  kind: "result",
  name: "y",
  op: "result",
  family: "result",
  origins: [],
  types: [],
});

// x -> a -> b -> y becomes x -> b' -> y: a is fused into b; c is new.
/** @type {import("../../../static/js/wire.js").StageGraph} */
const before = {
  stage: 0,
  graph_stage: 0,
  name: "imported",
  constants: [],
  added: [],
  changed: [],
  refined: [],
  removed: [],
  nodes: [input, node("a"), node("b"), result],
  edges: [
    ["x", "a", 0, "x"],
    ["a", "b", 0, "a"],
    ["b", "→y", 0, "b"],
  ],
};
/** @type {import("../../../static/js/wire.js").StageGraph} */
const after = {
  stage: 1,
  graph_stage: 1,
  name: "fuse",
  constants: [],
  added: ["c"],
  changed: ["b"],
  refined: [],
  removed: ["a"],
  nodes: [
    input,
    node("b", { op: "fusion", origins: ["a", "b"] }),
    node("c"),
    result,
  ],
  edges: [
    ["x", "b", 0, "x"],
    ["x", "c", 0, "x"],
    ["b", "→y", 0, "b"],
  ],
};
const union = {
  dot: "digraph { node [shape=box, fixedsize=true, width=1, height=0.5]; n0->n1; n1->n2; n2->n3; n0->n2; n0->n4; n4 }",
  n_nodes: 5,
  n_drawn: 5,
  collapsed: false,
  groups: [],
  nodes: ["x", "a", "b", "→y", "c"].map((id, i) => ({
    key: `n${i}`,
    id,
    stages: /** @type {[number, number][]} */ ([[0, 2]]),
    group: "",
    width: 72,
    height: 36,
  })),
};
const graphviz = await Graphviz.load();
const layout = readLayout(graphviz.layout(union.dot, /** @type {any} */ ("json0"), "dot"));
const places = placeUnion(union, new Set(), new Map([["", layout]]));
const diff = buildScene(places, before, after, "diff", true);

/** @param {import("../../../static/js/graph/scene.js").Scene} scene */
const shown = (scene) =>
  Object.fromEntries(
    scene.nodes.filter((each) => each.shown).map((each) => [each.id, each.status]),
  );
/** @param {import("../../../static/js/graph/scene.js").Scene} scene */
const edges = (scene) =>
  Object.fromEntries(
    scene.edges
      .filter((each) => each.shown)
      .map((each) => [`${each.from}-${each.to}`, each.status]),
  );

test("Graphviz's positions become points with y downwards, inside the drawing", () => {
  const [x, a] = [
    layout.nodes.find((n) => n.key === "n0"),
    layout.nodes.find((n) => n.key === "n1"),
  ];
  assert.ok(x && a);
  assert.ok(x.y < a.y, "an input is above its reader");
  assert.deepEqual([x.w, x.h], [72, 36]);
  for (const each of layout.nodes) {
    assert.ok(each.x - each.w / 2 >= -0.01 && each.x + each.w / 2 <= layout.width + 0.01);
    assert.ok(each.y - each.h / 2 >= -0.01 && each.y + each.h / 2 <= layout.height + 0.01);
  }
});

test("an edge runs from its tail to the tip of its arrow", () => {
  const edge = layout.edges.find((each) => each.from === "n0" && each.to === "n1");
  assert.ok(edge?.tip);
  assert.equal((edge.path.length - 2) % 6, 0);
  assert.ok(edge.path[1] < edge.tip[1]);
});

test("the view of changes shows unchanged, added, changed and removed nodes together", () => {
  assert.deepEqual(shown(diff), {
    x: "same",
    a: "removed",
    b: "changed",
    "→y": "same",
    c: "added",
  });
  assert.deepEqual(edges(diff), {
    "n0-n1": "removed",
    "n1-n2": "removed",
    "n2-n3": "same",
    "n0-n2": "added",
    "n0-n4": "added",
  });
});

test("the view before a pass marks removed nodes, and the view after it marks added nodes", () => {
  assert.deepEqual(shown(buildScene(places, before, after, "before", true)), {
    x: "same",
    a: "removed",
    b: "changed",
    "→y": "same",
  });
  assert.deepEqual(edges(buildScene(places, before, after, "before", true)), {
    "n0-n1": "removed",
    "n1-n2": "removed",
    "n2-n3": "same",
  });
  assert.deepEqual(shown(buildScene(places, before, after, "after", true)), {
    x: "same",
    b: "changed",
    "→y": "same",
    c: "added",
  });
});

test("the view before a pass shows the old version of a changed node", () => {
  assert.equal(statesOfNodes({ before, after }, "before").get("b")?.node.op, "relu");
  assert.equal(statesOfNodes({ before, after }, "diff").get("b")?.node.op, "fusion");
});

test("a node that survives has the same position in every view and stage", () => {
  const scenes = [
    diff,
    buildScene(places, before, after, "before", true),
    buildScene(places, null, before, "diff", true),
  ];
  for (const each of diff.nodes) {
    for (const scene of scenes) {
      const other = scene.byKey.get(each.key);
      assert.deepEqual([other?.x, other?.y, other?.w, other?.h], [each.x, each.y, each.w, each.h]);
    }
  }
});

test("an unchanged stage and the import have no marks", () => {
  for (const scene of [
    buildScene(places, after, after, "diff", false),
    buildScene(places, null, after, "diff", true),
  ]) {
    assert.deepEqual(shown(scene), { x: "same", b: "same", "→y": "same", c: "same" });
    assert.ok(Object.values(edges(scene)).every((status) => status === "same"));
  }
});

test("a fusion is labelled with its operators", () => {
  const body = {
    nodes: [node("p", { kind: "input" }), node("q", { op: "conv" }), node("r", { op: "relu" })],
    edges: [],
    constants: [],
  };
  const fused = { ...after, nodes: [node("b", { op: "fusion", regions: { body } })] };
  assert.equal(
    buildScene(places, null, fused, "after", true).byKey.get("n2")?.label,
    "conv + relu",
  );
});

test("a closed group is shown while it has a member in the stage, and is marked by the changes of its members", () => {
  const group = { label: "2 nodes", times: 1, open: false, group: "", width: 72, height: 36, dot: "" };
  const grouped = placeUnion(
    {
      ...union,
      nodes: union.nodes.map((n) => (["a", "b"].includes(n.id) ? { ...n, key: `m${n.key}`, group: "n1" } : n)),
      groups: [{ ...group, key: "n1", kind: "block" }],
    },
    new Set(),
    new Map([["", layout]]),
  );
  const scene = buildScene(grouped, before, after, "diff", true);
  assert.deepEqual(scene.byKey.get("n1")?.ids, ["a", "b"]);
  assert.equal(scene.byKey.get("n1")?.status, "changed");
  assert.deepEqual(scene.byKey.get("n1")?.marks, { added: 0, removed: 1, changed: 1, refined: 0 });
  assert.equal(countMarked(scene, "removed"), 1);
  assert.equal(countMarked(scene, "changed"), 1);
  assert.equal(scene.byKey.get("n1")?.sub, "2 nodes: relu, fusion");
  assert.equal(
    buildScene(
      grouped,
      before,
      { ...after, nodes: [input], removed: ["a", "b", "→y"], edges: [] },
      "diff",
      true,
    ).byKey.get("n1")?.status,
    "removed",
  );
  assert.equal(
    buildScene(grouped, null, { ...after, nodes: [input], edges: [] }, "after", true).byKey.get(
      "n1",
    )?.shown,
    false,
  );
});

test("arrow keys follow visible edges and start at the top", () => {
  assert.equal(walk(diff, "", "after"), "n0");
  assert.equal(walk(diff, "n1", "after"), "n2");
  assert.equal(walk(diff, "n2", "after"), "n3");
  assert.equal(walk(diff, "n3", "after"), "n3");
  assert.equal(walk(diff, "n3", "before"), "n2");
  const only = buildScene(places, before, after, "after", true);
  assert.equal(walk(only, "n2", "before"), "n0");
});

test("the neighbours of a box are the boxes at the other ends of its visible edges", () => {
  const at = (/** @type {string[]} */ keys) => {
    const { before: sources, after: readers } = neighboursOf(diff, new Set(keys));
    return [[...sources].sort(), [...readers].sort()];
  };
  assert.deepEqual(at(["n2"]), [["n0", "n1"], ["n3"]]);
  assert.deepEqual(at(["n1", "n2"]), [["n0", "n1"], ["n2", "n3"]]);
  assert.deepEqual(at([]), [[], []]);
});

test("the left and right arrow keys select the neighbour on that side", () => {
  const [x1, x4] = [diff.byKey.get("n1")?.x ?? 0, diff.byKey.get("n4")?.x ?? 0];
  const [left, right] = x1 < x4 ? ["n1", "n4"] : ["n4", "n1"];
  assert.equal(walk(diff, left, "right"), right);
  assert.equal(walk(diff, right, "left"), left);
});

test("a point hits the visible node at this position, and never a hidden node", () => {
  const a = diff.byKey.get("n1");
  assert.ok(a);
  assert.equal(nodeAt(diff, a)?.key, "n1");
  assert.equal(nodeAt(buildScene(places, before, after, "after", true), a), null);
  assert.equal(nodeAt(diff, { x: -500, y: 0 }), null);
});

test("a search requires every word, includes origins, and is limited to visible nodes", () => {
  assert.deepEqual(searchNodes(diff, "FUSION f32"), [{ key: "n2", id: "b", isHidden: false }]);
  assert.ok(searchNodes(diff, "a").some(({ key }) => key === "n2"));
  assert.deepEqual(searchNodes(diff, "fusion nothing"), []);
  assert.deepEqual(searchNodes(diff, "  "), []);
});

test("the bounding box of nodes contains these nodes", () => {
  const box = boxOfKeys(diff, ["n0", "n3"]);
  assert.ok(box && box.h > 72);
  assert.equal(boxOfKeys(diff, ["nobody"]), null);
});

const size = { width: 800, height: 600 };
const close = (/** @type {{x: number, y: number}} */ p, /** @type {{x: number, y: number}} */ q) =>
  assert.ok(Math.hypot(p.x - q.x, p.y - q.y) < 1e-6);

test("the mappings between screen and drawing are inverse to each other", () => {
  const camera = { x: 40, y: -7, zoom: 0.3 };
  close(toScreen(camera, size, toDrawing(camera, size, { x: 13, y: 550 })), { x: 13, y: 550 });
});

test("zooming keeps the point under the pointer fixed, also at the zoom limits", () => {
  const camera = { x: 40, y: -7, zoom: 0.3 };
  for (const factor of [1.5, 0.5, 1e6, 1e-6]) {
    const zoomed = zoomAt(camera, size, { x: 100, y: 80 }, factor);
    close(toDrawing(zoomed, size, { x: 100, y: 80 }), toDrawing(camera, size, { x: 100, y: 80 }));
  }
});

test("fitting shows the complete box and never enlarges it", () => {
  const camera = fit({ x: 500, y: 1000, w: 1000, h: 2000 }, size);
  const corner = toScreen(camera, size, { x: 0, y: 0 });
  assert.ok(corner.x >= 0 && corner.y >= 0);
  assert.equal(fit({ x: 0, y: 0, w: 10, h: 10 }, size).zoom, 1);
});

test("revealing a box moves the view as little as possible, and not at all if the box is visible", () => {
  const camera = { x: 0, y: 0, zoom: 1 };
  assert.deepEqual(reveal(camera, size, { x: 10, y: 10, w: 50, h: 20 }), camera);
  const moved = reveal(camera, size, { x: 0, y: 1000, w: 50, h: 20 });
  assert.equal(moved.x, 0);
  const at = toScreen(moved, size, { x: 0, y: 1000 });
  assert.ok(at.y > 500 && at.y < 600);
});

test("a drawn type has dimensions, blocks, and any element type other than f32", () => {
  const types = [
    "f32[1,64,55,55]",
    "f32[1,16,55,55]{c16,halo=1x1}",
    "i64[3]",
    "f32[]",
    "bool[N,2*H]",
    "seq(f32[2])",
  ];
  assert.deepEqual(types.map(shortType), [
    "1×64×55×55",
    "1×16×55×55 c16",
    "i64 3",
    "scalar",
    "bool N×2*H",
    "seq(f32[2])",
  ]);
});

const tall = { ...diff, width: 200, height: 9000 };

test("the initial view shows the complete graph if its text is legible, else the changes", () => {
  assert.deepEqual(firstLook(diff, size, new Set()), wholeLook(diff, size));
  const far = { ...tall, byKey: new Map(tall.byKey) };
  const node = { .../** @type {any} */ (diff.byKey.get("n1")), y: 5000 };
  far.byKey.set("n1", node);
  const look = firstLook(far, size, new Set(["n1"]));
  assert.ok(look.zoom > 0.8 && seesAny(far, look, size, ["n1"]));
});

test("the initial view leaves no unnecessary empty space above and below", () => {
  const look = firstLook(tall, size, new Set());
  assert.ok(look.y - size.height / 2 / look.zoom >= -60);
});

test("the view moves only if the target is not visible", () => {
  const look = wholeLook(diff, size);
  assert.deepEqual(lookAtNodes(diff, look, size, ["n0"]), look);
  const away = { x: 5000, y: 5000, zoom: 1 };
  assert.equal(seesAny(diff, away, size, ["n0"]), false);
  assert.equal(seesAny(diff, lookAtNodes(diff, away, size, ["n0"]), size, ["n0"]), true);
  assert.deepEqual(lookAtNodes(diff, away, size, ["nobody"]), away);
});

test("changes are visited from the top down", () => {
  const ys = markedNodes(diff).map((each) => each.y);
  assert.deepEqual(
    ys,
    [...ys].sort((a, b) => a - b),
  );
  assert.equal(ys.length, 3);
});
