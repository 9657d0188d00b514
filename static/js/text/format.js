// Formats numbers with SI units: bytes, seconds, operations; and errors. compiler/units.py has the same formats,
// except for the space before a unit, which breaks no line here.

/** The space between a number and its unit: a no-break space, because a unit belongs to its number. */
const GAP = "\u00a0";

/** A space between a number and its unit in a text of the compiler. */
const BEFORE_UNIT = /(?<=\d) (?=(?:[num]?s|[kMGT]?B|[kMGT]?flop(?:\/s)?|%)(?![\w/]))/g;

/** Keep numbers with their units in a text of the compiler. @param {string} text */
export function unbroken(text) {
  return text.replace(BEFORE_UNIT, GAP);
}

/**
 * Format a number with commas between thousands and at most three digits after the point. The number
 * formats of the browser give the same text, but their first use takes most of a frame.
 * @param {number} value
 */
function grouped(value) {
  const [whole, rest] = String(Number(value.toFixed(3))).split(".");
  const text = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return rest ? `${text}.${rest}` : text;
}

/**
 * @param {number} value
 * @param {number} digits
 */
function short(value, digits = 3) {
  return grouped(Number(value.toPrecision(digits)));
}

/**
 * @param {number} value
 * @param {string[]} units
 */
function scaled(value, units) {
  let size = Math.abs(value);
  let at = 0;
  // 0.9995 of the next unit would round up to "1,000" of this unit.
  while (size >= 999.5 && at < units.length - 1) {
    size /= 1000;
    at += 1;
  }
  const text = at === 0 && Number.isInteger(size) ? formatCount(size) : short(size);
  return `${value < 0 ? "−" : ""}${text}${GAP}${units[at]}`;
}

/** @param {number} bytes */
export function formatBytes(bytes) {
  return scaled(bytes, ["B", "kB", "MB", "GB", "TB"]);
}

/** @param {number} flops */
export function formatFlops(flops) {
  return scaled(flops, ["flop", "kflop", "Mflop", "Gflop", "Tflop"]);
}

/** @param {number} perSecond operations per second */
export function formatRate(perSecond) {
  return scaled(perSecond, ["flop/s", "kflop/s", "Mflop/s", "Gflop/s", "Tflop/s"]);
}

/** @param {number} seconds */
export function formatSeconds(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds === 0) return `0${GAP}s`;
  if (seconds < 1e-6) return `${short(seconds * 1e9)}${GAP}ns`;
  if (seconds < 0.9995e-3) return `${short(seconds * 1e6)}${GAP}us`;
  if (seconds < 0.9995) return `${short(seconds * 1e3)}${GAP}ms`;
  return `${short(seconds)}${GAP}s`;
}

/** @param {number} count */
export function formatCount(count) {
  return grouped(count);
}

/**
 * Format a difference with its sign; "±0" for 0.
 * @param {number} delta
 */
export function formatDelta(delta) {
  if (delta === 0) return "±0";
  return delta > 0 ? `+${formatCount(delta)}` : `−${formatCount(-delta)}`;
}

/** Format a share as a percentage, "–" for NaN and infinities. @param {number} share */
export function formatPercent(share) {
  if (!Number.isFinite(share)) return "–";
  const percent = share * 100;
  return `${percent === 0 || percent === 100 ? percent : percent.toFixed(1)}${GAP}%`;
}

/** Format a quotient of equal quantities, or operations per byte, with three digits. @param {number} ratio */
export function formatRatio(ratio) {
  return Number.isFinite(ratio) ? short(ratio) : "–";
}

/**
 * Format an error: "2.1e-7".
 * @param {number | null} error
 * @param {number} digits number of digits after the point
 */
export function formatError(error, digits = 1) {
  if (error === null || error === Infinity) return "∞";
  if (error === 0) return "0";
  const text = error.toExponential(digits).replace("e+", "e");
  return text.replace(/\.0+e/, "e").replace(/e0$/, "");
}

/**
 * Round an error up to one digit: "3e-7" for 2.1e-7.
 * @param {number} error
 */
export function atMost(error) {
  if (error === 0) return "0";
  const power = Math.floor(Math.log10(error));
  const digit = Math.ceil(error / 10 ** power - 1e-9);
  return formatError(digit * 10 ** power, 0);
}
