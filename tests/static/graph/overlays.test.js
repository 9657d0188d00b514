import assert from "node:assert/strict";
import test from "node:test";
import { toDot, toSvg } from "../../../static/js/graph/export.js";
import { overlayOf } from "../../../static/js/graph/overlays.js";

const WORDS = { less: "less", other: "others", plain: "plain" };

/** @param {string} id @param {string} type @param {string[]} origins */
const graphNode = (id, type, origins) => /** @type {any} */ ({ id, kind: "node", types: [type], origins });
/** @param {string} key @param {...string} ids */
const drawn = (key, ...ids) =>
  /** @type {any} */ ({ key, ids, id: ids[0], shown: true, label: `<${key}>`, sub: 'say "a"', status: "added", x: 50, y: 40, w: 80, h: 40, round: 6 });
/** @param {string} node @param {string[]} origins @param {number} seconds */
const kernel = (node, origins, seconds) =>
  /** @type {any} */ ({ node, origins, median_s: seconds, predicted_s: 9, flops: 10, bytes_read: 3, bytes_written: 4 });

const NODES = new Map(
  [
    graphNode("a", "f32[1,64]{c16}", ["A"]),
    graphNode("b", "f32[1,64]", ["B"]),
    graphNode("c", "i64[2]", ["C"]),
    graphNode("old", "f32[2]", ["A", "B"]),
  ].map((node) => [node.id, node]),
);
const KERNELS = [kernel("a", ["A"], 0.1), kernel("b", ["B"], 0.003)];

test("a node has the colour of its kernel's value relative to the largest value", () => {
  const shown = [drawn("n0", "a"), drawn("n1", "b"), drawn("n2", "c")];
  const overlay = overlayOf("time", shown, NODES, KERNELS, WORDS);
  assert.deepEqual([...(overlay?.classOf ?? [])], [["n0", 0], ["n1", 3]]);
  assert.equal(overlay?.says.get("n1"), "3\u00a0ms");
  assert.deepEqual(overlay?.classes.map(({ n }) => n), [1, 0, 0, 1, 0]);
});

test("a node of several kernels, or a group, has the sum over distinct kernels", () => {
  const overlay = overlayOf("time", [drawn("n0", "old"), drawn("g0", "a", "b", "old")], NODES, KERNELS, WORDS);
  assert.equal(overlay?.says.get("n0"), "103\u00a0ms");
  assert.equal(overlay?.says.get("g0"), "103\u00a0ms");
});

test("without kernels no node is coloured", () => {
  assert.equal(overlayOf("bytes", [drawn("n0", "a")], NODES, [], WORDS)?.classOf.size, 0);
});

test("layouts and element types are categories, the most frequent first", () => {
  const shown = [drawn("n0", "a"), drawn("n1", "b"), drawn("n2", "c")];
  const layout = overlayOf("layout", shown, NODES, KERNELS, WORDS);
  assert.deepEqual(layout?.classes, [{ label: "plain", n: 2 }, { label: "c16", n: 1 }]);
  const dtype = overlayOf("dtype", shown, NODES, KERNELS, WORDS);
  assert.deepEqual(dtype?.classes.map(({ label }) => label), ["f32", "i64"]);
  assert.equal(overlayOf("family", shown, NODES, KERNELS, WORDS), null);
});

const SCENE = /** @type {any} */ ({
  width: 100,
  height: 80,
  frames: [],
  nodes: [drawn("n0", 'a"\\'), { ...drawn("n1", "b"), shown: false }],
  edges: [
    { from: "n0", to: "n1", shown: true, status: "removed", tip: null, path: [1, 2, 3, 4, 5, 6, 7, 8] },
  ],
});
const COLORS = /** @type {any} */ ({
  paper: "white",
  ink: "black",
  muted: "gray",
  lineStrong: "gray",
  sans: '"A", b',
  status: { added: "green", removed: "red" },
});

test("names of a model are text in an SVG, never markup", () => {
  const svg = toSvg(SCENE, COLORS, () => ({ stroke: "blue", fill: "pink" }));
  assert.match(svg, /&lt;n0&gt;/);
  assert.doesNotMatch(svg, /<n0>/);
  assert.match(svg, /stroke="red" stroke-dasharray/);
  assert.equal(svg.match(/<rect/g)?.length, 2);
});

test("special characters are quoted in DOT", () => {
  const dot = toDot(SCENE);
  assert.match(dot, /n0 \[label="<n0>\\nsay \\"a\\"", tooltip="a\\"\\\\"\];/);
  assert.match(dot, /n0 -> n1;/);
});

test("characters that XML forbids are replaced in SVG and in DOT", () => {
  const odd = { ...drawn("n0", "\x07\ud800&amp;"), label: "relu \x1b\0" };
  const scene = { ...SCENE, nodes: [odd], edges: [] };
  const svg = toSvg(scene, COLORS, () => ({ stroke: "blue", fill: "pink" }));
  assert.match(svg, /<title>\ufffd\ufffd&amp;amp;<\/title>/);
  const dot = toDot(scene);
  assert.match(dot, /label="relu \ufffd\ufffd\\nsay \\"a\\"", tooltip="\ufffd\ufffd&amp;amp;"/);
  assert.doesNotMatch(svg + dot, /[\0-\x08\x0e-\x1f]/);
});

test("errors are coloured relative to the tolerance, and a group has the largest error of its nodes", () => {
  const value = (/** @type {string} */ node, /** @type {number | null} */ relative_error) =>
    /** @type {any} */ ({ name: node, node, relative_error });
  const checked = /** @type {any} */ ({ tolerance: 1e-4, values: [value("a", 2e-7), value("b", null), value("c", 3e-6)] });
  const shown = [drawn("n0", "a"), drawn("g1", "b", "a"), drawn("g2", "a", "c"), drawn("n3", "old")];
  const overlay = overlayOf("error", shown, NODES, KERNELS, WORDS, checked);
  assert.deepEqual([...(overlay?.classOf ?? [])], [["n0", 3], ["g1", 0], ["g2", 2]]);
  assert.equal(overlay?.says.get("g2"), "3e-6");
  assert.equal(overlay?.says.get("g1"), "∞");
  assert.deepEqual(overlay?.classes.map(({ label }) => label), ["> 1e-4", "> 1e-5", "> 1e-6", "> 1e-7", "less"]);
  assert.equal(overlayOf("error", shown, NODES, KERNELS, WORDS)?.classOf.size, 0);
});

const PLACEMENT = /** @type {any} */ ({
  busy_seconds: { cpu: 0.1, gpu: 0.2, npu: 0 },
  tasks: [
    { task: "b", device: "cpu", origins: ["B"] },
    { task: "a", device: "gpu", origins: ["A"] },
    { task: "a2", device: "gpu", origins: ["A"] },
  ],
});

test("a node has the device of its task, and an imported node the devices of all tasks from its ONNX nodes", () => {
  const shown = [drawn("n0", "a"), drawn("n1", "b"), drawn("n2", "c"), drawn("n3", "old")];
  const overlay = overlayOf("device", shown, NODES, KERNELS, WORDS, null, PLACEMENT);
  assert.deepEqual(overlay?.classes, [{ label: "cpu", n: 1 }, { label: "gpu", n: 2 }, { label: "npu", n: 0 }]);
  assert.deepEqual([...(overlay?.classOf ?? [])], [["n0", 1], ["n1", 0], ["n3", 1]]);
  assert.equal(overlay?.says.get("n3"), "gpu, cpu");
  assert.equal(overlay?.says.has("n2"), false);
  assert.equal(overlayOf("device", shown, NODES, KERNELS, WORDS)?.classOf.size, 0);
});
