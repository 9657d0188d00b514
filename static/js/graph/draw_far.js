// Paints the far view, where nodes have no text. A stroke paints many nodes of one colour, and each
// step fits into a frame.

/**
 * @typedef {import("./scene.js").SceneNode} SceneNode
 * @typedef {import("./scene.js").SceneEdge} SceneEdge
 * @typedef {import("../elements/theme.js").Colors} Colors
 */

/** Minimum size of a marked node, in pixels. */
const MARKED_PX = 4;
const PLAIN_PX = 1.2;
/** Edges per path and per step; long paths are expensive to stroke in software. */
const EDGES_PER_STEP = 256;
const NODES_PER_STEP = 1024;

/**
 * Paint edges in one colour as straight lines between the ends of their segments.
 * @param {CanvasRenderingContext2D} context context with drawing units
 * @param {SceneEdge[]} edges
 * @param {number} zoom
 * @param {{color: string, alpha: number, width: number, dash: number[]}} pen
 * @returns {Generator<void>}
 */
export function* strokeFar(context, edges, zoom, { color, alpha, width, dash }) {
  context.globalAlpha = alpha;
  context.strokeStyle = color;
  context.lineWidth = width / zoom;
  context.setLineDash(dash.map((length) => length / zoom));
  for (let start = 0; start < edges.length; start += EDGES_PER_STEP) {
    context.beginPath();
    const end = Math.min(edges.length, start + EDGES_PER_STEP);
    for (let i = start; i < end; i++) {
      const { path } = edges[i];
      context.moveTo(path[0], path[1]);
      for (let at = 6; at + 1 < path.length; at += 6) context.lineTo(path[at], path[at + 1]);
    }
    context.stroke();
    yield;
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/**
 * Paint nodes as filled boxes, colour by colour; marked nodes come last and have a minimum size.
 * @param {CanvasRenderingContext2D} context context with drawing units
 * @param {SceneNode[]} nodes
 * @param {number} zoom
 * @param {Colors} colors
 * @param {(node: SceneNode) => string} colorOf
 * @param {(node: SceneNode) => number} alphaOf
 * @returns {Generator<void>}
 */
export function* fillFar(context, nodes, zoom, colors, colorOf, alphaOf) {
  /** @type {Map<string, SceneNode[]>} */
  const groups = new Map();
  /** @type {SceneNode[]} */
  const marked = [];
  for (const node of nodes) {
    if (node.status !== "same") {
      marked.push(node);
      continue;
    }
    const key = `${alphaOf(node)} ${colorOf(node)}`;
    const group = groups.get(key);
    if (group) group.push(node);
    else groups.set(key, [node]);
  }
  for (const group of groups.values()) {
    context.globalAlpha = alphaOf(group[0]);
    context.fillStyle = colorOf(group[0]);
    for (let start = 0; start < group.length; start += NODES_PER_STEP) {
      for (const node of group.slice(start, start + NODES_PER_STEP))
        box(context, node, PLAIN_PX / zoom);
      yield;
    }
  }
  for (const node of marked) {
    context.globalAlpha = alphaOf(node);
    context.fillStyle = colors.status[node.status];
    box(context, node, MARKED_PX / zoom);
  }
  context.globalAlpha = 1;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {SceneNode} node
 * @param {number} least minimum width and height
 */
function box(context, node, least) {
  const w = Math.max(node.w, least);
  const h = Math.max(node.h, least);
  context.fillRect(node.x - w / 2, node.y - h / 2, w, h);
}
