import assert from "node:assert/strict";
import test from "node:test";
import { edgeAt } from "../../../static/js/graph/edge_hit.js";

/**
 * @param {string} key
 * @param {number[]} path
 * @returns {import("../../../static/js/graph/scene.js").SceneEdge}
 */
function edge(key, path, shown = true) {
  const xs = path.filter((_, i) => i % 2 === 0);
  const ys = path.filter((_, i) => i % 2 === 1);
  const [from, to] = key.split(" ");
  const box = /** @type {[number, number, number, number]} */ (
    [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)]
  );
  return { key, from, to, ends: true, path, box, shown, status: "same" };
}
/** A curve from (0, 0) to (30, 90) with its middle at (26.25, 45). */
const bent = edge("a b", [0, 0, 30, 30, 30, 60, 30, 90]);
const straight = edge("a c", [0, 0, 0, 30, 0, 60, 0, 90]);

test("the nearest edge within reach is found by the distance to its curve, not to its chord", () => {
  assert.equal(edgeAt([straight, bent], { x: 26.25, y: 45 }, 2), bent);
  // The midpoint of the straight line between the ends, far from the curve.
  assert.equal(edgeAt([straight, bent], { x: 15, y: 45 }, 5), null);
  assert.equal(edgeAt([bent, straight], { x: 3, y: 45 }, 5), straight);
  assert.equal(edgeAt([straight, bent], { x: 1, y: 96 }, 5), null);
});

test("all curves of an edge count, and hidden edges are not found", () => {
  const long = edge("d e", [0, 0, 0, 10, 0, 20, 0, 30, 0, 40, 40, 50, 40, 60]);
  assert.equal(edgeAt([long], { x: 40, y: 59 }, 2), long);
  assert.equal(edgeAt([edge("d e", long.path, false)], { x: 40, y: 59 }, 2), null);
});
