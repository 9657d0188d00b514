// Formats numbers with units: bytes in powers of 1024, seconds, operations.

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
 * @param {number} base
 * @param {string[]} units
 */
function scaled(value, base, units) {
  let size = Math.abs(value);
  let at = 0;
  // 0.9995 of the next unit would round up to "1,000" of this unit.
  while (size >= base * 0.9995 && at < units.length - 1) {
    size /= base;
    at += 1;
  }
  const text = at === 0 && Number.isInteger(size) ? formatCount(size) : short(size);
  return `${value < 0 ? "−" : ""}${text} ${units[at]}`;
}

/** @param {number} bytes */
export function formatBytes(bytes) {
  return scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
}

/** @param {number} flops */
export function formatFlops(flops) {
  return scaled(flops, 1000, ["flop", "kflop", "Mflop", "Gflop", "Tflop"]);
}

/** @param {number} perSecond operations per second */
export function formatRate(perSecond) {
  return scaled(perSecond, 1000, ["flop/s", "kflop/s", "Mflop/s", "Gflop/s", "Tflop/s"]);
}

/** @param {number} seconds */
export function formatSeconds(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds === 0) return "0 s";
  if (seconds < 1e-6) return `${short(seconds * 1e9)} ns`;
  if (seconds < 0.9995e-3) return `${short(seconds * 1e6)} µs`;
  if (seconds < 0.9995) return `${short(seconds * 1e3)} ms`;
  return `${short(seconds)} s`;
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
  return `${percent === 0 || percent === 100 ? percent : percent.toFixed(1)} %`;
}
