// Paints the visible part of a scene on a canvas, with detail according to the zoom.
import { toScreen } from "./camera.js";
import { drawEdges, drawStrongEdges } from "./draw_edge.js";
import { fillFar, strokeFar } from "./draw_far.js";
import { drawFrame, drawMarks } from "./draw_group.js";
import { TRIANGLE, inView } from "./hit.js";
import { MARKERS, clip, outline } from "./pen.js";

/**
 * @typedef {import("./camera.js").Camera} Camera
 * @typedef {import("./camera.js").Size} Size
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./scene.js").SceneNode} SceneNode
 * @typedef {import("./hit.js").Visible} Visible
 * @typedef {import("../elements/theme.js").Colors} Colors
 *
 * @typedef {object} Emphasis
 * @property {Set<string>} selected keys of nodes
 * @property {Set<string>} near keys of the neighbours of selected nodes
 * @property {Set<string>} found keys of the nodes that the search found
 * @property {Set<string>} fallbacks keys of the nodes that the reference runs
 * @property {Set<string>} through keys of the segments of edges at selected nodes
 * @property {Set<string>} chosen keys of the segments of the chosen edge
 * @property {Set<string>} hovered keys of the segments of edges at the hovered node
 * @property {string} edge key of the hovered segment, "" for none
 * @property {Map<string, string>} sums totals of groups: sum of the property that colours the nodes
 * @property {string} focus key of the node in focus, "" for none
 * @property {string} hover
 * @property {Map<string, Paint> | null} paints colours of nodes by key; null: by family
 *
 * @typedef {{stroke: string, fill: string, strong?: string}} Paint `strong`: colour of a box without text
 */

/** Heights in pixels below which a node is drawn without its second line, and without text. */
const TWO_LINES_PX = 27;
const TEXT_PX = 11;
/** Height in pixels below which a node is drawn as a coloured box without details. */
const FAR_PX = 6;
const NODE_HEIGHT = 40;
const FADED = 0.28;
/** Distance between the strokes of the fallback hatching, in drawing units. */
const HATCH = 7;

/**
 * @param {CanvasRenderingContext2D} context already scaled to CSS pixels
 * @param {Scene} scene
 * @param {Camera} camera
 * @param {Size} size
 * @param {Colors} colors
 * @param {Emphasis} emphasis
 * @returns {number} number of nodes drawn
 */
export function drawScene(context, scene, camera, size, colors, emphasis) {
  context.clearRect(0, 0, size.width, size.height);
  const visible = inView(scene, camera, size);
  const { nodes, frames, edges } = visible;
  if (isFar(camera)) {
    for (const _ of farSteps(context, visible, camera, size, colors, emphasis));
    drawStanding(context, scene, camera, size, colors, emphasis);
    return nodes.length;
  }
  context.save();
  toDrawingUnits(context, camera, size);
  for (const frame of frames) drawFrame(context, frame, camera.zoom, colors, emphasis);
  drawEdges(context, edges, camera.zoom, colors);
  drawStrongEdges(context, scene, camera, size, colors, emphasis);
  for (const node of nodes)
    drawNode(context, node, camera.zoom, colors, emphasis, isFaded(node, emphasis));
  context.restore();
  return nodes.length;
}

/**
 * Return whether nodes are too small for text.
 * @param {Camera} camera
 */
export function isFar(camera) {
  return NODE_HEIGHT * camera.zoom < FAR_PX;
}

/**
 * Paint the far view in steps, with few strokes and without highlights.
 * @param {CanvasRenderingContext2D} context
 * @param {Visible} visible
 * @param {Camera} camera
 * @param {Size} size
 * @param {Colors} colors
 * @param {Emphasis} emphasis
 * @returns {Generator<void>}
 */
export function* farSteps(context, { nodes, frames, edges }, camera, size, colors, emphasis) {
  const { zoom } = camera;
  context.save();
  toDrawingUnits(context, camera, size);
  for (const frame of frames) drawFrame(context, frame, zoom, colors, emphasis);
  const pen = { color: colors.lineStrong, alpha: 0.6, width: 0.6, dash: [] };
  const quiet = edges.filter(({ status }) => status === "same" || status === "changed");
  yield* strokeFar(context, quiet, zoom, pen);
  for (const status of /** @type {const} */ (["added", "removed"])) {
    const those = edges.filter((edge) => edge.status === status);
    const dash = status === "removed" ? [5, 4] : [];
    yield* strokeFar(context, those, zoom, { color: colors.status[status], alpha: 1, width: 1, dash });
  }
  const colorOf = (/** @type {SceneNode} */ node) => {
    const paint = paintOf(node, colors, emphasis);
    return paint.strong ?? paint.stroke;
  };
  const alphaOf = (/** @type {SceneNode} */ node) => (isFaded(node, emphasis) ? FADED : 1);
  yield* fillFar(context, nodes, zoom, colors, colorOf, alphaOf);
  context.restore();
}

/**
 * Paint the highlights of the far view in full detail, over the other nodes and edges.
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {Camera} camera
 * @param {Size} size
 * @param {Colors} colors
 * @param {Emphasis} emphasis
 */
export function drawStanding(context, scene, camera, size, colors, emphasis) {
  const { selected, near, hover, focus } = emphasis;
  context.save();
  toDrawingUnits(context, camera, size);
  drawStrongEdges(context, scene, camera, size, colors, emphasis);
  for (const key of new Set([...near, ...selected, hover, focus])) {
    const node = scene.byKey.get(key);
    if (node?.shown && !node.open) drawNode(context, node, camera.zoom, colors, emphasis, false);
  }
  context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Camera} camera
 * @param {Size} size
 */
function toDrawingUnits(context, camera, size) {
  const origin = toScreen(camera, size, { x: 0, y: 0 });
  context.translate(origin.x, origin.y);
  context.scale(camera.zoom, camera.zoom);
}

/**
 * Return whether a search dims this node.
 * @param {SceneNode} node
 * @param {Emphasis} emphasis
 */
function isFaded({ key }, { found, selected }) {
  return found.size > 0 && !found.has(key) && !selected.has(key);
}

/**
 * @param {SceneNode} node
 * @param {Colors} colors
 * @param {Emphasis} emphasis
 * @returns {Paint}
 */
export function paintOf(node, colors, emphasis) {
  const overlaid = emphasis.paints?.get(node.key);
  if (overlaid) return overlaid;
  if (emphasis.paints) return { stroke: colors.lineStrong, fill: colors.surface };
  return emphasis.fallbacks.has(node.key) ? colors.fallback : colors.family[node.family];
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {SceneNode} node
 * @param {number} zoom
 * @param {Colors} colors
 * @param {Emphasis} emphasis
 * @param {boolean} faded
 */
function drawNode(context, node, zoom, colors, emphasis, faded) {
  const { x, y, w, h, status } = node;
  const left = x - w / 2;
  const top = y - h / 2;
  const isFallback = emphasis.fallbacks.has(node.key);
  const paint = paintOf(node, colors, emphasis);
  const selected = emphasis.selected.has(node.key);
  context.globalAlpha = faded ? FADED : 1;

  if (selected || emphasis.near.has(node.key) || emphasis.hover === node.key) {
    const grow = (selected ? 5 : 3.5) / Math.min(1, Math.max(zoom, 0.3));
    outline(context, left - grow, top - grow, w + 2 * grow, h + 2 * grow, node.round + grow);
    context.strokeStyle = colors.accent;
    context.lineWidth = (selected ? 3 : 1.2) / Math.min(1, Math.max(zoom, 0.3));
    context.globalAlpha = (faded ? FADED : 1) * (selected ? 1 : 0.7);
    context.stroke();
    context.globalAlpha = faded ? FADED : 1;
  }

  if (node.kind !== "node" && (node.node === null || node.hasBodies)) {
    // A closed group looks like stacked sheets.
    outline(context, left + 4, top + 4, w, h, node.round);
    context.strokeStyle = paint.stroke;
    context.lineWidth = 1.2;
    context.stroke();
  }
  outline(context, left, top, w, h, node.round);
  context.fillStyle = status === "removed" ? colors.paper : paint.fill;
  context.fill();
  if (isFallback) drawHatching(context, node, left, top, paint.stroke);
  const marked = status !== "same";
  context.strokeStyle = marked ? colors.status[status] : paint.stroke;
  context.lineWidth = (marked ? 2.4 : 1.2) / Math.min(1, Math.max(zoom, 0.25));
  context.setLineDash(status === "removed" ? [6, 4] : []);
  context.stroke();
  context.setLineDash([]);

  const heightPx = h * zoom;
  if (heightPx > 7 && node.round < h / 2) {
    context.save();
    outline(context, left, top, w, h, node.round);
    context.clip();
    context.fillStyle = paint.stroke;
    context.fillRect(left, top, 5, h);
    context.restore();
  }
  // Muted text is illegible on the dark colours of an overlay.
  const subColor = emphasis.paints?.has(node.key) ? colors.ink : colors.muted;
  if (heightPx >= TEXT_PX) {
    const sub = node.node ? node.sub : (emphasis.sums.get(node.key) ?? node.sub);
    drawText(context, { ...node, sub }, heightPx, colors, subColor);
    if (node.hasBodies) drawTriangle(context, left + TRIANGLE / 2 + 2, y, colors);
  }
  if (marked && (node.node === null || node.hasBodies)) drawMarks(context, left + w, top, node.marks, zoom, colors);
  else if (marked) drawSign(context, left, top, status, zoom, colors);
  if (emphasis.focus === node.key) {
    outline(context, left + 3, top + 3, w - 6, h - 6, Math.max(1, node.round - 3));
    context.strokeStyle = colors.ink;
    context.lineWidth = 1.2 / Math.min(1, zoom);
    context.stroke();
  }
  context.globalAlpha = 1;
}

/**
 * Paint the hatching that marks a fallback without colour, from the lower left to the upper right.
 * @param {CanvasRenderingContext2D} context
 * @param {SceneNode} node
 * @param {number} left
 * @param {number} top
 * @param {string} color
 */
function drawHatching(context, { w, h, round }, left, top, color) {
  const alpha = context.globalAlpha;
  context.save();
  outline(context, left, top, w, h, round);
  context.clip();
  context.beginPath();
  for (let x = left - h; x < left + w; x += HATCH) {
    context.moveTo(x, top + h);
    context.lineTo(x + h, top);
  }
  context.globalAlpha = alpha * 0.22;
  context.strokeStyle = color;
  context.lineWidth = 1.4;
  context.stroke();
  context.restore();
  outline(context, left, top, w, h, round);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {SceneNode} node
 * @param {number} heightPx
 * @param {Colors} colors
 * @param {string} subColor colour of the second line
 */
function drawText(context, node, heightPx, colors, subColor) {
  const two = heightPx >= TWO_LINES_PX && node.sub !== "" && node.h > 26;
  context.textAlign = "center";
  context.textBaseline = "middle";
  // The triangle that opens the bodies is to the left of the text.
  const shift = node.hasBodies ? TRIANGLE / 3 : 0;
  const room = node.w - 16 - 2 * shift;
  const labelSize = Math.min(13, node.h * 0.42);
  context.fillStyle = node.status === "removed" ? colors.muted : colors.ink;
  context.font = `600 ${labelSize}px ${colors.sans}`;
  context.fillText(
    clip(context, node.label, room),
    node.x + 2 + shift,
    two ? node.y - node.h * 0.17 : node.y + 0.5,
  );
  if (!two) return;
  context.fillStyle = subColor;
  context.font = `400 ${Math.min(10.5, node.h * 0.3)}px ${colors.sans}`;
  context.fillText(clip(context, node.sub, room), node.x + 2 + shift, node.y + node.h * 0.24);
}

/**
 * Paint the triangle that opens the bodies of a control-flow node.
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {Colors} colors
 */
function drawTriangle(context, x, y, colors) {
  context.beginPath();
  context.moveTo(x - 3, y - 5);
  context.lineTo(x + 4, y);
  context.lineTo(x - 3, y + 5);
  context.closePath();
  context.fillStyle = colors.ink;
  context.fill();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} left
 * @param {number} top
 * @param {Exclude<import("./scene.js").Status, "same">} status
 * @param {number} zoom
 * @param {Colors} colors
 */
function drawSign(context, left, top, status, zoom, colors) {
  const radius = Math.max(7.5, 4.5 / zoom);
  context.beginPath();
  if (status === "added") context.arc(left, top, radius, 0, 2 * Math.PI);
  else if (status === "removed")
    context.rect(left - radius * 0.9, top - radius * 0.9, radius * 1.8, radius * 1.8);
  else {
    context.moveTo(left, top - radius * 1.2);
    context.lineTo(left + radius * 1.2, top);
    context.lineTo(left, top + radius * 1.2);
    context.lineTo(left - radius * 1.2, top);
    context.closePath();
  }
  context.fillStyle = colors.status[status];
  context.fill();
  context.fillStyle = colors.paper;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = `700 ${radius * 1.5}px ${colors.sans}`;
  context.fillText(MARKERS[status], left, top + radius * 0.08);
}
