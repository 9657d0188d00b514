// Paints edges with curves and arrows: edges of one style in few strokes, the chosen edges on top.
import { overlaps } from "./grid.js";
import { viewBox } from "./hit.js";

/**
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./scene.js").SceneEdge} SceneEdge
 * @typedef {import("../elements/theme.js").Colors} Colors
 * @typedef {import("./draw.js").Emphasis} Emphasis
 * @typedef {{color: string, alpha: number, width: number, dash: number[], arrow: number}} Look
 */

/** Maximum number of edges per path: long paths are expensive to stroke in software. */
const EDGES_PER_PATH = 64;
/** Zoom below which arrows are too small to be seen. */
const ARROWS_ZOOM = 0.16;
/** Half the angle of an arrow's tip, in radians. */
const ARROW_ANGLE = 0.42;

/**
 * @param {CanvasRenderingContext2D} context context with drawing units
 * @param {SceneEdge[]} edges in view
 * @param {number} zoom
 * @param {Colors} colors
 */
export function drawEdges(context, edges, zoom, colors) {
  const quiet = { color: colors.lineStrong, alpha: 0.75, width: 1.2, dash: [], arrow: 7 };
  const of = (/** @type {string} */ status) => edges.filter((edge) => edge.status === status);
  const plain = edges.filter(({ status }) => status === "same" || status === "changed");
  strokeAll(context, plain, zoom, quiet);
  const { added, removed } = colors.status;
  strokeAll(context, of("removed"), zoom, { ...quiet, color: removed, alpha: 1, dash: [5, 4] });
  strokeAll(context, of("added"), zoom, { ...quiet, color: added, alpha: 1 });
}

/**
 * Paint the edges highlighted by the selection, the pointer and the chosen edge.
 * @param {CanvasRenderingContext2D} context context with drawing units
 * @param {Scene} scene
 * @param {import("./camera.js").Camera} camera
 * @param {import("./camera.js").Size} size
 * @param {Colors} colors
 * @param {Emphasis} emphasis
 */
export function drawStrongEdges(context, { places, edges }, camera, size, colors, emphasis) {
  const view = viewBox(camera, size);
  const look = { color: colors.accent, alpha: 1, width: 2.2, dash: [], arrow: 9 };
  const inView = (/** @type {Iterable<string>} */ keys) =>
    [...new Set(keys)]
      .map((key) => edges[places.edgeAt.get(key) ?? -1])
      .filter((edge) => edge?.shown && overlaps(edge.box, view));
  const stroke = (/** @type {SceneEdge[]} */ strong, /** @type {Look} */ look) => {
    const gone = strong.filter(({ status }) => status === "removed");
    strokeAll(context, strong.filter(({ status }) => status !== "removed"), camera.zoom, look);
    strokeAll(context, gone, camera.zoom, { ...look, dash: [5, 4] });
  };
  stroke(inView([...emphasis.through, ...emphasis.hovered, emphasis.edge]), look);
  stroke(inView(emphasis.chosen), { ...look, width: 5, arrow: 15 });
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {SceneEdge[]} edges
 * @param {number} zoom
 * @param {Look} look
 */
function strokeAll(context, edges, zoom, { color, alpha, width, dash, arrow }) {
  if (edges.length === 0) return;
  context.globalAlpha = alpha;
  context.strokeStyle = context.fillStyle = color;
  context.lineWidth = width / Math.min(1, Math.max(zoom, 0.35));
  context.setLineDash(dash.map((length) => length / Math.min(1, zoom)));
  for (let start = 0; start < edges.length; start += EDGES_PER_PATH) {
    const some = edges.slice(start, start + EDGES_PER_PATH);
    context.beginPath();
    for (const { path } of some) {
      context.moveTo(path[0], path[1]);
      for (let i = 2; i + 5 < path.length; i += 6)
        context.bezierCurveTo(path[i], path[i + 1], path[i + 2], path[i + 3], path[i + 4], path[i + 5]);
    }
    context.stroke();
    if (zoom <= ARROWS_ZOOM) continue;
    context.beginPath();
    for (const edge of some) if (edge.ends && edge.path.length >= 8) arrowTo(context, edge.path, arrow);
    context.fill();
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/**
 * Draw an arrow at the end of a path.
 * @param {CanvasRenderingContext2D} context
 * @param {number[]} path
 * @param {number} length
 */
function arrowTo(context, path, length) {
  const [fromX, fromY, x, y] = path.slice(-4);
  const angle = Math.atan2(y - fromY, x - fromX);
  context.moveTo(x, y);
  for (const side of [-ARROW_ANGLE, ARROW_ANGLE])
    context.lineTo(x - length * Math.cos(angle + side), y - length * Math.sin(angle + side));
  context.closePath();
}
