import assert from "node:assert/strict";
import test from "node:test";
import { newBoxes } from "../../../static/js/graph/motion.js";

/** @param {Record<string, [number, number, boolean]>} nodes */
function scene(nodes) {
  const made = Object.entries(nodes).map(([key, [x, y, shown]]) => ({ key, x, y, w: 40, h: 20, shown }));
  return /** @type {any} */ ({ nodes: made, byKey: new Map(made.map((each) => [each.key, each])) });
}

test("new boxes inside the view are animated at their positions in pixels", () => {
  const old = scene({ a: [50, 0, true], b: [50, 100, false], c: [50, 5000, false] });
  const next = scene({ a: [50, 0, true], b: [50, 100, true], c: [50, 5000, true], d: [60, 200, false] });
  const boxes = newBoxes(old, next, { x: 50, y: 100, zoom: 2 }, { width: 300, height: 400 });
  assert.deepEqual(boxes, [{ x: 150, y: 200, w: 40 * 2 + 32, h: 20 * 2 + 32 }]);
});

test("very many new nodes are not animated", () => {
  const many = Object.fromEntries(
    Array.from({ length: 201 }, (_, i) => [`n${i}`, /** @type {[number, number, boolean]} */ ([i, 0, true])]),
  );
  assert.deepEqual(newBoxes(scene({}), scene(many), { x: 0, y: 0, zoom: 1 }, { width: 900, height: 400 }), []);
});
