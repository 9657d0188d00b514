// Paints the picture of the arena.
import { formatBytes } from "./format.js";

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{width: number, height: number}} size
 * @param {import("./memory_map.js").MemoryMap} map
 * @param {import("./theme.js").Colors} colors
 * @param {{selected: Set<number>, focus: number, familyOf: (buffer: import("./wire.js").Buffer) => string, words: {peak: string, bound: string, steps: string}}} show
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
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const { x, step } of map.stepTicks) {
    context.fillStyle = colors.muted;
    context.fillText(String(step), x, plot.bottom + 5);
  }
  context.textAlign = "right";
  context.fillText(words.steps, plot.right, plot.bottom + 17);

  const dim = selected.size > 0;
  for (const { buffer, x, y, w, h } of map.rects) {
    const family = colors.family[familyOf(buffer)] ?? colors.family.opaque;
    const chosen = selected.has(buffer.buffer);
    context.globalAlpha = dim && !chosen ? 0.6 : 1;
    context.fillStyle = chosen ? colors.accent : family.fill;
    context.fillRect(x, y, w, h);
    // A gap of half a pixel keeps neighbours apart however small they are.
    context.strokeStyle = chosen ? colors.ink : family.stroke;
    context.lineWidth = buffer.buffer === focus ? 2.5 : 1;
    if (w > 2 && h > 2) context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    if (w > 54 && h > 15)
      label(context, buffer.name, x + 5, y + h / 2, w - 10, chosen ? colors.paper : colors.ink);
  }
  context.globalAlpha = 1;
  limit(context, plot, map.peakY, colors.ink, words.peak, [], true);
  // The words of two lines that are close would lie on each other.
  const apart = map.boundY - map.peakY;
  if (apart > 1.5)
    limit(context, plot, map.boundY, colors.status.changed, words.bound, [5, 4], apart > 30);
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
 * @param {boolean} above whether the words stand above the line
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
