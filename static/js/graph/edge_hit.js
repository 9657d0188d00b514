// Finds the edge at a point; curves are approximated by short straight lines.

/** Lines per Bézier curve; between two rows of nodes, each line has a few pixels. */
const STROKES = 12;

/**
 * Return the visible segment nearest to a point; null if no segment is within `slack`.
 * @param {import("./scene.js").SceneEdge[]} edges
 * @param {{x: number, y: number}} point
 * @param {number} slack drawing units
 * @returns {import("./scene.js").SceneEdge | null}
 */
export function edgeAt(edges, { x, y }, slack) {
  let nearest = null;
  let least = slack;
  for (const edge of edges) {
    const [left, top, right, bottom] = edge.box;
    if (!edge.shown || x < left - slack || x > right + slack || y < top - slack || y > bottom + slack)
      continue;
    const away = distance(edge.path, x, y);
    if (away <= least) [nearest, least] = [edge, away];
  }
  return nearest;
}

/**
 * Return the distance of a point from a path of Bézier curves.
 * @param {number[]} path x and y of the start, then of three points per curve
 * @param {number} x
 * @param {number} y
 */
function distance(path, x, y) {
  let least = Infinity;
  let [fromX, fromY] = path;
  for (let i = 2; i + 5 < path.length; i += 6) {
    for (let stroke = 1; stroke <= STROKES; stroke += 1) {
      const t = stroke / STROKES;
      const toX = bezier(path[i - 2], path[i], path[i + 2], path[i + 4], t);
      const toY = bezier(path[i - 1], path[i + 1], path[i + 3], path[i + 5], t);
      least = Math.min(least, toStroke(fromX, fromY, toX, toY, x, y));
      [fromX, fromY] = [toX, toY];
    }
  }
  return least;
}

/**
 * @param {number} a
 * @param {number} b
 * @param {number} c
 * @param {number} d
 * @param {number} t 0 at `a`, 1 at `d`
 */
function bezier(a, b, c, d, t) {
  const s = 1 - t;
  return s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d;
}

/**
 * @param {number} fromX
 * @param {number} fromY
 * @param {number} toX
 * @param {number} toY
 * @param {number} x
 * @param {number} y
 */
function toStroke(fromX, fromY, toX, toY, x, y) {
  const [w, h] = [toX - fromX, toY - fromY];
  const along = ((x - fromX) * w + (y - fromY) * h) / (w * w + h * h || 1);
  const t = Math.min(1, Math.max(0, along));
  return Math.hypot(fromX + t * w - x, fromY + t * h - y);
}
