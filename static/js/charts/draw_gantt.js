// Paints the Gantt chart of a schedule: rows of bars, the critical path, and below them the memories.
import { formatBytes, formatSeconds } from "../text/format.js";

/**
 * @typedef {object} Show
 * @property {Set<string>} selected tasks
 * @property {number} focus the number of an activity, -1 for none
 * @property {(task: string) => string} familyOf
 * @property {{bound: string, room: (store: import("./gantt_map.js").Store) => string}} words
 */

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{width: number, height: number}} size
 * @param {import("./gantt_map.js").GanttMap} map
 * @param {import("../elements/theme.js").Colors} colors
 * @param {Show} show
 */
export function drawGantt(context, size, map, colors, show) {
  const { plot } = map;
  context.clearRect(0, 0, size.width, size.height);
  context.font = `11px ${colors.sans}`;
  drawTimes(context, size, map, colors);
  drawRows(context, map, colors);
  context.save();
  context.beginPath();
  context.rect(plot.left, 0, plot.right - plot.left, size.height);
  context.clip();
  drawPath(context, map, colors);
  for (const bar of map.bars) drawBar(context, bar, colors, show);
  context.restore();
  for (const each of map.stores) drawStore(context, each, colors, show);
  if (map.boundX !== null && map.boundX >= plot.left && map.boundX <= plot.right)
    drawBound(context, map, map.boundX, colors, show.words.bound);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{width: number, height: number}} size
 * @param {import("./gantt_map.js").GanttMap} map
 * @param {import("../elements/theme.js").Colors} colors
 */
function drawTimes(context, size, { plot, ticks }, colors) {
  context.textBaseline = "alphabetic";
  context.lineWidth = 1;
  for (const { x, seconds } of ticks) {
    context.strokeStyle = colors.line;
    line(context, x, plot.top - 4, x, size.height - 18);
    context.fillStyle = colors.muted;
    const text = formatSeconds(seconds);
    const wide = context.measureText(text).width / 2;
    context.textAlign = x + wide > size.width - 2 ? "right" : "center";
    context.fillText(text, Math.min(x, size.width - 2), size.height - 5);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./gantt_map.js").GanttMap} map
 * @param {import("../elements/theme.js").Colors} colors
 */
function drawRows(context, { plot, rows }, colors) {
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const { row, y } of rows) {
    context.strokeStyle = colors.line;
    line(context, plot.left, y, plot.right, y);
    context.fillStyle = row.kind === "device" ? colors.ink : colors.muted;
    context.fillText(fitted(context, row.name, plot.left - 14), plot.left - 8, y);
  }
}

/**
 * Paint the critical path as lines from bar to bar.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./gantt_map.js").GanttMap} map
 * @param {import("../elements/theme.js").Colors} colors
 */
function drawPath(context, { path }, colors) {
  context.strokeStyle = colors.status.changed;
  context.lineWidth = 2;
  context.lineJoin = "round";
  context.beginPath();
  for (const { x, y } of path) context.lineTo(x, y);
  context.stroke();
}

/**
 * Paint a bar: tasks in the colour of their family, transfers striped; thick edges mark the critical path.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./gantt_map.js").Bar} bar
 * @param {import("../elements/theme.js").Colors} colors
 * @param {Show} show
 */
function drawBar(context, { activity, x, y, w, h }, colors, { selected, focus, familyOf }) {
  const chosen = selected.has(activity.task);
  const move = activity.kind === "move";
  const family = colors.family[familyOf(activity.task)] ?? colors.family.opaque;
  context.fillStyle = colors.surface; // dimmed bars remain opaque
  context.fillRect(x, y, w, h);
  context.globalAlpha = selected.size > 0 && !chosen ? 0.6 : 1;
  context.fillStyle = chosen ? colors.accent : move ? colors.surface : family.fill;
  context.fillRect(x, y, w, h);
  if (move && !chosen) stripes(context, x, y, w, h, colors.lineStrong);
  context.lineWidth = activity.number === focus ? 2.5 : 1;
  context.strokeStyle = chosen ? colors.ink : move ? colors.lineStrong : family.stroke;
  if (w > 2) context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
  if (activity.critical) {
    context.fillStyle = colors.status.changed;
    context.fillRect(x, y + h - 4, w, 4);
  }
  if (w > 34 && !move) {
    context.textAlign = "left";
    context.fillStyle = chosen ? colors.paper : colors.ink;
    context.fillText(fitted(context, activity.name, w - 9), x + 5, y + h / 2 - 0.5);
  }
  context.globalAlpha = 1;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {number} h
 * @param {string} color
 */
function stripes(context, x, y, w, h, color) {
  context.save();
  context.beginPath();
  context.rect(x, y, w, h);
  context.clip();
  context.strokeStyle = color;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - h; at < x + w; at += 6) {
    context.moveTo(at, y + h);
    context.lineTo(at + h, y);
  }
  context.stroke();
  context.restore();
}

/**
 * Paint the use of a memory over time as an area, and the peak as text.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./gantt_map.js").GanttMap["stores"][number]} store
 * @param {import("../elements/theme.js").Colors} colors
 * @param {Show} show
 */
function drawStore(context, { store, box, corners }, colors, { words }) {
  context.fillStyle = colors.selected;
  context.beginPath();
  context.moveTo(corners[0]?.x ?? box.left, box.bottom);
  for (const { x, y } of corners) context.lineTo(x, y);
  context.lineTo(corners[corners.length - 1]?.x ?? box.left, box.bottom);
  context.fill();
  context.strokeStyle = colors.accent;
  context.lineWidth = 1.25;
  context.beginPath();
  for (const { x, y } of corners) context.lineTo(x, y);
  context.stroke();
  context.strokeStyle = colors.lineStrong;
  context.lineWidth = 1;
  line(context, box.left, box.bottom, box.right, box.bottom);
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = colors.ink;
  const middle = (box.top + box.bottom) / 2;
  context.fillText(fitted(context, store.name, box.left - 14), box.left - 8, middle - 13);
  context.fillStyle = colors.muted;
  context.fillText(formatBytes(store.peak), box.left - 8, middle + 1);
  const room = words.room(store);
  if (room) context.fillText(fitted(context, room, box.left - 10), box.left - 8, middle + 15);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./gantt_map.js").GanttMap} map
 * @param {number} x
 * @param {import("../elements/theme.js").Colors} colors
 * @param {string} words
 */
function drawBound(context, { plot }, x, colors, words) {
  context.strokeStyle = context.fillStyle = colors.ink;
  context.lineWidth = 1.5;
  context.setLineDash([5, 4]);
  line(context, x, plot.top - 6, x, plot.bottom);
  context.setLineDash([]);
  context.textBaseline = "bottom";
  const wide = context.measureText(words).width;
  context.textAlign = x + wide + 8 > plot.right && x - wide - 8 > plot.left ? "right" : "left";
  const by = context.textAlign === "right" ? -5 : 5;
  context.fillText(words, x + by, plot.top - 4);
}

/**
 * Truncate a text to the available width.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} room
 */
function fitted(context, text, room) {
  const width = context.measureText(text).width;
  if (width <= room) return text;
  return `${text.slice(0, Math.max(1, Math.floor((text.length * room) / width) - 1))}…`;
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
  context.moveTo(Math.round(x1) + (x1 === x2 ? 0.5 : 0), Math.round(y1) + (y1 === y2 ? 0.5 : 0));
  context.lineTo(Math.round(x2) + (x1 === x2 ? 0.5 : 0), Math.round(y2) + (y1 === y2 ? 0.5 : 0));
  context.stroke();
}
