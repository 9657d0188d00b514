// Paints the memory plan of the arena, and below it the curves of live bytes and of the extent.
import { formatBytes } from "../text/format.js";

/** Maximum number of edges drawn; if there are more, only edges of the buffer in focus are drawn. */
const MOST_EDGES = 250;
const ARROW = 3;

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{width: number, height: number}} size
 * @param {import("./memory_map.js").MemoryMap} map
 * @param {import("../elements/theme.js").Colors} colors
 * @param {{selected: Set<number>, focus: number, familyOf: (buffer: import("../wire.js").Buffer) => string, words: {peak: string, bound: string, steps: string, live: string, used: string}}} show
 */
export function drawMemory(context, size, map, colors, { selected, focus, familyOf, words }) {
  const { plot } = map;
  context.clearRect(0, 0, size.width, size.height);
  context.font = `11px ${colors.sans}`;
  context.lineWidth = 1;
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const { y, bytes } of map.byteTicks) {
    context.strokeStyle = colors.line;
    line(context, plot.left, y, plot.right, y);
    context.fillStyle = colors.muted;
    context.fillText(formatBytes(bytes), plot.left - 6, y);
  }
  drawCurves(context, map, colors, words);

  const dim = selected.size > 0;
  for (const { buffer, x, y, w, h } of map.rects) {
    const family = colors.family[familyOf(buffer)] ?? colors.family.opaque;
    const chosen = selected.has(buffer.buffer);
    context.globalAlpha = dim && !chosen ? 0.6 : 1;
    context.fillStyle = chosen ? colors.accent : family.fill;
    context.fillRect(x, y, w, h);
    // A gap of half a pixel separates neighbours of any size.
    context.strokeStyle = chosen ? colors.ink : family.stroke;
    context.lineWidth = buffer.buffer === focus ? 2.5 : 1;
    if (w > 2 && h > 2) context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    if (w > 54 && h > 15)
      label(context, buffer.name, x + 5, y + h / 2, w - 10, chosen ? colors.paper : colors.ink);
  }
  context.globalAlpha = 1;
  for (const each of map.edges) {
    const near = each.before === focus || each.after === focus;
    if (near) drawEdge(context, each, colors.ink, 1.75);
    else if (focus < 0 && map.edges.length <= MOST_EDGES)
      drawEdge(context, each, colors.lineStrong, 0.75);
  }
  limit(context, plot, map.peakY, colors.ink, words.peak, [], true);
  // If two lines are close, their labels would overlap.
  const apart = map.boundY - map.peakY;
  if (apart > 1.5)
    limit(context, plot, map.boundY, colors.status.changed, words.bound, [5, 4], apart > 30);
}

/**
 * Paint the live bytes of each step as an area, the extent as a line, and mark the peak step.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./memory_map.js").MemoryMap} map
 * @param {import("../elements/theme.js").Colors} colors
 * @param {{steps: string, live: string, used: string}} words
 */
function drawCurves(context, { below, fullest, live, plot, stepTicks, used }, colors, words) {
  context.fillStyle = colors.selected;
  trace(context, [{ x: below.left, y: below.bottom }, ...live, { x: below.right, y: below.bottom }]);
  context.fill();
  context.lineWidth = 1.5;
  context.strokeStyle = colors.muted;
  context.setLineDash([2, 2]);
  trace(context, used);
  context.stroke();
  context.setLineDash([]);
  context.strokeStyle = colors.accent;
  trace(context, live);
  context.stroke();
  context.lineWidth = 1;
  context.strokeStyle = colors.line;
  line(context, below.left, below.bottom, below.right, below.bottom);
  if (live.length > 0) {
    context.strokeStyle = colors.accent;
    context.setLineDash([1, 3]);
    line(context, fullest.x, plot.top, fullest.x, below.bottom);
    context.setLineDash([]);
    context.fillStyle = colors.accent;
    context.beginPath();
    context.arc(fullest.x, fullest.y, 3, 0, 2 * Math.PI);
    context.fill();
  }
  context.textBaseline = "top";
  context.fillStyle = colors.muted;
  context.textAlign = "center";
  for (const { x, step } of stepTicks) context.fillText(String(step), x, below.bottom + 5);
  context.textAlign = "right";
  context.fillText(words.steps, below.right, below.bottom + 17);
  context.textBaseline = "middle";
  const middle = (below.top + below.bottom) / 2;
  context.fillText(words.used, below.left - 6, middle - 7);
  context.fillStyle = colors.accent;
  context.fillText(words.live, below.left - 6, middle + 7);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./memory_map.js").Point[]} points
 */
function trace(context, points) {
  context.beginPath();
  for (const { x, y } of points) context.lineTo(x, y);
}

/**
 * Paint an arrow from the end of a buffer to the start of its successor. If the two touch, paint only the head.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./memory_map.js").Edge} edge
 * @param {string} color
 * @param {number} width
 */
function drawEdge(context, { x1, x2, y }, color, width) {
  context.strokeStyle = context.fillStyle = color;
  context.lineWidth = width;
  const tip = Math.max(x2, x1 + 1) + ARROW;
  context.beginPath();
  context.moveTo(x1 - ARROW, y);
  context.lineTo(tip - ARROW, y);
  context.stroke();
  context.beginPath();
  context.moveTo(tip, y);
  context.lineTo(tip - 1.6 * ARROW, y - ARROW);
  context.lineTo(tip - 1.6 * ARROW, y + ARROW);
  context.fill();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {number} room
 * @param {string} color
 */
function label(context, text, x, y, room, color) {
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillStyle = color;
  const width = context.measureText(text).width;
  context.fillText(
    width <= room
      ? text
      : `${text.slice(0, Math.max(1, Math.floor((text.length * room) / width) - 1))}…`,
    x,
    y + 0.5,
  );
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./memory_map.js").MemoryMap["plot"]} plot
 * @param {number} y
 * @param {string} color
 * @param {string} words
 * @param {number[]} dash
 * @param {boolean} above whether the label is above the line
 */
function limit(context, plot, y, color, words, dash, above) {
  context.strokeStyle = color;
  context.lineWidth = 1.5;
  context.setLineDash(dash);
  line(context, plot.left, y, plot.right, y);
  context.setLineDash([]);
  context.fillStyle = color;
  context.textAlign = "right";
  context.textBaseline = above ? "bottom" : "top";
  context.fillText(words, plot.right - 2, above ? y - 2 : y + 4);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 */
function line(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, Math.round(y1) + 0.5);
  context.lineTo(x2, Math.round(y2) + 0.5);
  context.stroke();
}
