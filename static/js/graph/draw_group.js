// Paints groups: the frame of an open group, and the counts of marked nodes in the group.
import { HEADER } from "./nesting.js";
import { MARKERS, MARKS, clip, outline } from "./pen.js";

/**
 * @typedef {import("./scene.js").SceneNode} SceneNode
 * @typedef {import("../elements/theme.js").Colors} Colors
 */

/** Height in pixels of a frame's header below which the frame has no text. */
const TEXT_PX = 9;
const ROUND = 10;

/**
 * @param {CanvasRenderingContext2D} context context with drawing units
 * @param {SceneNode} frame
 * @param {number} zoom
 * @param {Colors} colors
 * @param {import("./draw.js").Emphasis} emphasis
 */
export function drawFrame(context, frame, zoom, colors, emphasis) {
  const { key, x, y, w, h, label, sub, marks, node, status } = frame;
  const [left, top] = [x - w / 2, y - h / 2];
  const isSelected = emphasis.selected.has(key);
  const isMeant = isSelected || emphasis.near.has(key) || emphasis.hover === key || emphasis.focus === key;
  outline(context, left, top, w, h, ROUND);
  // Groups at every second depth are tinted, to show the nesting.
  context.globalAlpha = frame.around.length % 2 ? 1 : 0.55;
  context.fillStyle = frame.around.length % 2 ? colors.paper : colors.surface;
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = isMeant ? colors.accent : node ? colors.family[frame.family].stroke : colors.lineStrong;
  context.lineWidth = (isSelected ? 3 : isMeant ? 2 : 1) / Math.min(1, Math.max(zoom, 0.3));
  // A frame without bodies at this pass only keeps the place of the node.
  context.setLineDash(status === "removed" || (node && !frame.hasBodies) ? [6, 4] : []);
  context.stroke();
  context.setLineDash([]);
  if (HEADER * zoom < TEXT_PX) return;
  context.textAlign = "left";
  context.textBaseline = "middle";
  const room = w - 24;
  context.fillStyle = colors.ink;
  context.font = `600 12px ${colors.sans}`;
  const title = clip(context, `\u25be ${label}`, room);
  context.fillText(title, left + 10, top + HEADER / 2);
  const rest = room - context.measureText(title).width - 10;
  if (rest > 60) {
    const at = left + 20 + context.measureText(title).width;
    context.fillStyle = colors.muted;
    context.font = `400 11px ${colors.sans}`;
    context.fillText(clip(context, emphasis.sums.get(key) ?? sub, rest), at, top + HEADER / 2);
  }
  drawMarks(context, left + w, top, marks, zoom, colors);
}

/**
 * Paint the counts of marked nodes of a group in its upper right corner.
 * @param {CanvasRenderingContext2D} context
 * @param {number} right
 * @param {number} top
 * @param {SceneNode["marks"]} marks
 * @param {number} zoom
 * @param {Colors} colors
 */
export function drawMarks(context, right, top, marks, zoom, colors) {
  const size = Math.max(11, 6.5 / zoom);
  context.font = `700 ${size}px ${colors.sans}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  let end = right - size * 0.4;
  for (const mark of MARKS.toReversed()) {
    if (marks[mark] === 0) continue;
    const text = `${MARKERS[mark]}${marks[mark]}`;
    const width = context.measureText(text).width + size * 0.7;
    context.fillStyle = colors.status[mark];
    outline(context, end - width, top - size * 0.7, width, size * 1.4, size * 0.35);
    context.fill();
    context.fillStyle = colors.paper;
    context.fillText(text, end - width + size * 0.35, top + size * 0.05);
    end -= width + size * 0.25;
  }
}
