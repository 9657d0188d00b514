// Numbers that a reader writes: "12", "4.5 MB", "30 %", "200 us".

/** Factors of units; letters after a number that are not here make the text unreadable. @type {Record<string, number>} */
const FACTORS = {
  "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12,
  b: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3,
  byte: 1, bytes: 1, million: 1e6, billion: 1e9, thousand: 1e3,
  "%": 0.01, percent: 0.01,
  s: 1, ms: 1e-3, us: 1e-6, "µs": 1e-6, "μs": 1e-6, ns: 1e-9,
  flop: 1, kflop: 1e3, mflop: 1e6, gflop: 1e9, tflop: 1e12, flops: 1,
  x: 1, times: 1, nodes: 1, kernels: 1, node: 1, kernel: 1,
}; // prettier-ignore

const FORM = /^([-+]?)(\d[\d,_ ]*(?:\.\d+)?|\.\d+)(?:e([-+]?\d+))?\s*([^\d\s]*)$/i;

/**
 * Return the number in a text, or null if it has none.
 * @param {string} text
 * @returns {number | null}
 */
export function numberIn(text) {
  const found = FORM.exec(text.trim());
  if (!found) return null;
  const [, sign, digits, power = "0", unit] = found;
  const factor = FACTORS[unit.toLowerCase()];
  if (factor === undefined) return null;
  const value = Number(digits.replace(/[,_ ]/g, "")) * 10 ** Number(power) * factor;
  return Number.isFinite(value) ? (sign === "-" ? -value : value) : null;
}

/**
 * Return how a guess compares with a result.
 * @param {number} guess
 * @param {number} value
 * @param {number} within relative tolerance
 * @returns {{verdict: "right" | "high" | "low" | "off", ratio: number}} the ratio is at least 1
 */
export function compared(guess, value, within) {
  if (Math.abs(guess - value) <= within * Math.abs(value) + 1e-12) return { verdict: "right", ratio: 1 };
  if (guess <= 0 || value <= 0) return { verdict: "off", ratio: 1 };
  return guess > value ? { verdict: "high", ratio: guess / value } : { verdict: "low", ratio: value / guess };
}
