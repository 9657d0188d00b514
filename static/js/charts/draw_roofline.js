// Paints the roofline plot: kernels below the ceilings of a machine.
import { formatRate } from "../text/format.js";
import { clearPlace } from "./roofline_map.js";

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{width: number, height: number}} size
 * @param {import("./roofline_map.js").RooflineMap} map
 * @param {import("../elements/theme.js").Colors} colors
 * @param {object} show
 * @param {number} show.focus number of a kernel, -1 for none
 * @param {(spot: import("./roofline_map.js").Spot) => boolean} show.isSelected
 * @param {(spot: import("./roofline_map.js").Spot) => string} show.familyOf
 * @param {(ceiling: import("./roofline_map.js").Ceiling) => string} show.nameOf
 * @param {{x: string, y: string}} show.words
 */
export function drawRoofline(context, size, map, colors, show) {
  context.clearRect(0, 0, size.width, size.height);
  context.font = `11px ${colors.sans}`;
  drawAxes(context, size, map, colors, show.words);
  context.save();
  context.beginPath();
  context.rect(map.plot.left, map.plot.top, map.plot.right - map.plot.left, map.plot.bottom - map.plot.top);
  context.clip();
  for (const each of map.lines) drawCeiling(context, each, colors);
  drawNames(context, map, colors, show.nameOf);
  const anySelected = map.points.some(({ spot }) => show.isSelected(spot));
  for (const each of map.points) drawPoint(context, each, colors, show, anySelected);
  context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{width: number, height: number}} size
 * @param {import("./roofline_map.js").RooflineMap} map
 * @param {import("../elements/theme.js").Colors} colors
 * @param {{x: string, y: string}} words
 */
function drawAxes(context, size, { plot, xTicks, yTicks }, colors, words) {
  context.lineWidth = 1;
  context.textBaseline = "alphabetic";
  context.textAlign = "center";
  for (const { x, value } of xTicks) {
    context.strokeStyle = colors.line;
    line(context, x, plot.top, x, plot.bottom);
    context.fillStyle = colors.muted;
    context.fillText(String(Number(value.toPrecision(3))), x, plot.bottom + 15);
  }
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const { y, value } of yTicks) {
    context.strokeStyle = colors.line;
    line(context, plot.left, y, plot.right, y);
    context.fillStyle = colors.muted;
    context.fillText(formatRate(value), plot.left - 7, y);
  }
  context.strokeStyle = colors.lineStrong;
  line(context, plot.left, plot.bottom, plot.right, plot.bottom);
  line(context, plot.left, plot.top, plot.left, plot.bottom);
  context.fillStyle = colors.muted;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  context.fillText(words.x, (plot.left + plot.right) / 2, size.height - 6);
  context.save();
  context.translate(11, (plot.top + plot.bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(words.y, 0, 0);
  context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./roofline_map.js").Line} ceiling
 * @param {import("../elements/theme.js").Colors} colors
 */
function drawCeiling(context, { ceiling, x1, y1, x2, y2 }, colors) {
  context.strokeStyle = ceiling.kind === "compute" ? colors.ink : colors.lineStrong;
  context.lineWidth = 1.5;
  if (ceiling.kind === "memory") context.setLineDash([6, 4]);
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
  context.setLineDash([]);
}

/**
 * Label the ceilings without overlaps: peaks at their right ends, memories along their slopes.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./roofline_map.js").RooflineMap} map
 * @param {import("../elements/theme.js").Colors} colors
 * @param {(ceiling: import("./roofline_map.js").Ceiling) => string} nameOf
 */
function drawNames(context, map, colors, nameOf) {
  context.textBaseline = "bottom";
  for (const { ceiling, x1, y1, x2, y2 } of map.lines) {
    const text = nameOf(ceiling);
    context.save();
    if (ceiling.kind === "compute") {
      const place = clearPlace(map, y1, context.measureText(text).width);
      context.textAlign = "right";
      context.textBaseline = place.isAbove ? "bottom" : "top";
      context.translate(place.x, place.isAbove ? y1 - 3 : y1 + 4);
    } else {
      const angle = Math.atan2(y2 - y1, x2 - x1);
      const room = Math.min(context.measureText(text).width + 10, Math.hypot(x2 - x1, y2 - y1));
      const at = room / Math.max(Math.hypot(x2 - x1, y2 - y1), 1);
      context.textAlign = "left";
      context.translate(x1 + (x2 - x1) * Math.min(at * 0.12, 0.5) + 6, y1 + (y2 - y1) * Math.min(at * 0.12, 0.5) - 6);
      context.rotate(angle);
    }
    context.lineWidth = 3;
    context.strokeStyle = colors.surface;
    context.strokeText(text, 0, 0);
    context.fillStyle = ceiling.kind === "compute" ? colors.ink : colors.muted;
    context.fillText(text, 0, 0);
    context.restore();
  }
}

/**
 * Paint a kernel with the interval of its speed; the point is hollow if call overhead dominates.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./roofline_map.js").Point} point
 * @param {import("../elements/theme.js").Colors} colors
 * @param {Parameters<typeof drawRoofline>[4]} show
 * @param {boolean} anySelected
 */
function drawPoint(context, { spot, x, y, r, lowY, highY }, colors, show, anySelected) {
  const chosen = show.isSelected(spot);
  const family = colors.family[show.familyOf(spot)] ?? colors.family.opaque;
  context.globalAlpha = anySelected && !chosen ? 0.45 : 1;
  context.strokeStyle = chosen ? colors.ink : family.stroke;
  context.lineWidth = 1;
  line(context, x, lowY, x, highY);
  context.beginPath();
  context.arc(x, y, r, 0, 2 * Math.PI);
  context.fillStyle = chosen ? colors.accent : spot.tiny ? colors.surface : family.fill;
  context.fill();
  context.lineWidth = spot.times.kernel === show.focus ? 3 : 1.5;
  if (spot.tiny) context.setLineDash([2, 2]);
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
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
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}
