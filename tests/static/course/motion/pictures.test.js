// Tests of the pictures' places and texts, with the words of the page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const page = readFileSync(new URL("../../../../templates/words/course.html", import.meta.url), "utf8");
const sentences = [...page.matchAll(/<span data-word="([^"]+)"(?: data-one="([^"]*)")?>(.*?)<\/span>/g)].map(
  ([, key, one, many]) => ({
    textContent: many,
    getAttribute: (/** @type {string} */ name) => (name === "data-word" ? key : (one ?? null)),
  }),
);
class Template {
  content = { querySelectorAll: () => sentences };
}
Object.assign(globalThis, { HTMLTemplateElement: Template, document: { getElementById: () => new Template() } });
const { arrangement, finished, walkText } = await import("../../../../static/js/course/motion/walk.js");
const { placeText } = await import("../../../../static/js/course/motion/places.js");
const { rewriteText } = await import("../../../../static/js/course/motion/rewrites.js");

/** @param {string} name @param {number[]} shape @param {string} [role] */
const matrix = (name, shape, role = "input") => ({
  name,
  shape,
  role,
  rows: shape.slice(0, -1).reduce((a, b) => a * b, 1),
  columns: shape[shape.length - 1] ?? 1,
});

test("the operands of a product stand above and beside its result", () => {
  const { cell, places, width, height } = arrangement([matrix("A", [4, 6]), matrix("B", [6, 8]), matrix("Y", [4, 8], "output")]);
  const [a, b, y] = places;
  assert.equal(a.y, y.y);
  assert.equal(b.x, y.x);
  assert.ok(a.x + 6 * cell < y.x && b.y + 6 * cell < y.y);
  assert.ok(y.x + 8 * cell <= width && y.y + 4 * cell <= height);
});

test("other matrices stand in a row and do not overlap", () => {
  const shapes = [[5, 12], [2, 6, 4], [12], []];
  const matrices = shapes.map((shape, i) => matrix(`M${i}`, shape, i === 3 ? "output" : "input"));
  const { cell, places, width } = arrangement(matrices);
  places.forEach(({ x }, i) => {
    const end = x + matrices[i].columns * cell;
    assert.ok(end < (places[i + 1]?.x ?? width + 1), `${i}`);
  });
});

test("the elements of earlier frames are finished, and those of the frame are not", () => {
  /** @param {number} row */
  const frame = (row) => ({
    at: "", reads: "", writes: "", sums: "",
    cells: /** @type {import("../../../../static/js/wire.js").WalkCells[]} */ ([[0, "read", row, 0, 1, 1], [1, "write", row, 0, 1, 2]]),
  });
  assert.deepEqual(finished([frame(0), frame(1), frame(2)], 2, 2), [[], [[1, "write", 0, 0, 1, 2], [1, "write", 1, 0, 1, 2]]]);
});

test("the texts of frames name their elements, buffers and nodes", () => {
  const walk = { at: "m=2, k=5", reads: "A[2, 5], B[5, 0..4]", sums: "Y[2, 0..4]", writes: "", cells: [] };
  assert.equal(walkText(walk), "m=2, k=5: reads A[2, 5], B[5, 0..4]; adds to the sums of Y[2, 0..4]");
  assert.equal(walkText({ ...walk, at: "", reads: "", sums: "", writes: "Y[0]" }), "writes Y[0]");
  const buffers = [
    { name: "x", start: 0, end: 2, offset: 0, size: 900 },
    { name: "h", start: 2, end: 4, offset: 0, size: 1200 },
    { name: "g", start: 3, end: 4, offset: 1200, size: 40 },
  ];
  const text = (/** @type {import("../../../../static/js/wire.js").PlaceFrame} */ frame, order = "run") =>
    placeText(frame, buffers, order).replaceAll("\u00a0", " ");
  assert.equal(
    text({ buffer: 1, on: [], shares: ["x"], peak_bytes: 1200 }),
    "h: 1.2 kB at offset 0, reuses the bytes of x. Peak so far: 1.2 kB.",
  );
  assert.equal(
    text({ buffer: 2, on: ["h"], shares: [], peak_bytes: 1240 }, "size"),
    "g: 40 B at offset 1.2 kB, on top of h. Peak so far: 1.24 kB.",
  );
});

test("the text of a rewrite names what it matched, and what became of it", () => {
  const base = { step: 2, rule: "cse", at: "b", because: "a is the same", boxes: [], marked: [], lines: [] };
  /** @param {"start" | "match" | "replace"} phase @param {string[]} took @param {string[]} made */
  const text = (phase, took, made) => rewriteText({ ...base, phase, took, made }, 3);
  assert.equal(text("start", [], []), "The graph before 3 rewrites.");
  assert.equal(text("match", ["a", "b"], ["a"]), "2 of 3: cse matches a, b: a is the same.");
  assert.equal(text("replace", ["a", "b"], ["a"]), "2 of 3: a instead of b.");
  assert.equal(text("replace", ["b"], []), "2 of 3: the graph without b.");
  assert.equal(text("replace", ["b"], ["b"]), "2 of 3: b after the change.");
});
