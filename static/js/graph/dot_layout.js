// Reads Graphviz's layout as numbers in points: the origin is at the top left, y points downwards.
//
// This module runs in the worker and in the tests.

/**
 * @typedef {object} PlacedNode
 * @property {string} key
 * @property {number} x centre
 * @property {number} y centre
 * @property {number} w
 * @property {number} h
 *
 * @typedef {object} PlacedEdge
 * @property {string} from
 * @property {string} to
 * @property {number[]} path x and y of the start, then of three points per Bézier segment
 * @property {[number, number] | null} tip tip of the arrow
 *
 * @typedef {object} Layout
 * @property {number} width
 * @property {number} height
 * @property {PlacedNode[]} nodes
 * @property {PlacedEdge[]} edges
 */

const POINTS_PER_INCH = 72;

/**
 * Read Graphviz's `json0` output.
 * @param {string} json
 * @returns {Layout}
 */
export function readLayout(json) {
  const graph = JSON.parse(json);
  const [left, bottom, right, top] = String(graph.bb ?? "0,0,0,0")
    .split(",")
    .map(Number);
  /** @type {any[]} */
  const objects = graph.objects ?? [];
  const x = (/** @type {number} */ value) => value - left;
  const y = (/** @type {number} */ value) => top - value;

  /** @type {PlacedNode[]} */
  const nodes = [];
  for (const each of objects) {
    if (typeof each.pos !== "string" || each.nodes) continue;
    const [nx, ny] = each.pos.split(",").map(Number);
    nodes.push({
      key: each.name,
      x: x(nx),
      y: y(ny),
      w: Number(each.width) * POINTS_PER_INCH,
      h: Number(each.height) * POINTS_PER_INCH,
    });
  }
  /** @type {PlacedEdge[]} */
  const edges = [];
  for (const each of graph.edges ?? []) {
    if (typeof each.pos !== "string") continue;
    edges.push({
      from: objects[each.tail].name,
      to: objects[each.head].name,
      ...readSpline(each.pos, x, y),
    });
  }
  return { width: right - left, height: top - bottom, nodes, edges };
}

/**
 * Read "e,1,2 3,4 5,6 ...": the end point, then the control points. Only the first spline is read.
 * @param {string} pos
 * @param {(value: number) => number} x
 * @param {(value: number) => number} y
 * @returns {{path: number[], tip: [number, number] | null}}
 */
function readSpline(pos, x, y) {
  /** @type {number[]} */
  const path = [];
  /** @type {[number, number] | null} */
  let tip = null;
  for (const piece of pos.split(";")[0].trim().split(/\s+/)) {
    const parts = piece.split(",");
    const numbers = parts.slice(-2).map(Number);
    if (parts.length === 3 && parts[0] === "e") tip = [x(numbers[0]), y(numbers[1])];
    else if (parts.length === 2) path.push(x(numbers[0]), y(numbers[1]));
  }
  return { path, tip };
}
