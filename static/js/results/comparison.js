// Compares two results of one model: rows of figures, and whether the measured times differ.
import { formatPercent } from "../text/format.js";


/**
 * @typedef {import("../wire.js").Result} Result
 * @typedef {import("../wire.js").StageGraph} StageGraph
 *
 * @typedef {object} Figure
 * @property {string} key key of the words `compare.KEY`
 * @property {"count" | "bytes" | "seconds" | "error"} unit
 * @property {number | null} a
 * @property {number | null} b
 * @property {boolean} [lessIsBetter]
 */

/**
 * @param {Result} a
 * @param {Result} b
 * @returns {Figure[]}
 */
export function figuresOf(a, b) {
  const row = (
    /** @type {string} */ key,
    /** @type {Figure["unit"]} */ unit,
    /** @type {(result: Result) => number | null} */ of,
  ) => ({ key, unit, a: of(a), b: of(b) });
  const last = (/** @type {Result} */ { stages }) => stages[stages.length - 1];
  return [
    row("nodes", "count", (each) => last(each)?.n_nodes ?? null),
    row("kernels", "count", ({ kernels }) => kernels.filter((k) => k.inside === null).length),
    row("fallbacks", "count", ({ running }) => running?.n_fallback ?? null),
    row("values", "bytes", (each) => last(each)?.value_bytes ?? null),
    row("constants", "bytes", (each) => last(each)?.constant_bytes ?? null),
    row("arena", "bytes", ({ memory }) => memory?.peak_bytes ?? null),
    row("live", "bytes", ({ memory }) => memory?.live_peak_bytes ?? null),
    row("traffic", "bytes", ({ kernels }) => trafficOf(kernels) || null),
    row("predicted", "seconds", ({ running }) => running?.predicted_s ?? null),
    row("compile", "seconds", ({ timings }) =>
      timings.filter(({ phase }) => ["read", "passes", "code"].includes(phase)).reduce((sum, { seconds }) => sum + seconds, 0),
    ),
    row("error", "error", ({ check }) =>
      check?.outputs.length ? Math.max(...check.outputs.map((each) => each.relative_error ?? 0)) : null,
    ),
  ];
}

/**
 * Return the bytes that the kernels of a run read and write.
 * @param {import("../wire.js").Kernel[]} kernels
 */
export function trafficOf(kernels) {
  return kernels.reduce((sum, each) => sum + each.bytes_read + each.bytes_written, 0);
}

/**
 * Compare two runs by their intervals; "" if an interval is missing.
 * @param {{low_s: number | null, high_s: number | null} | null} a
 * @param {{low_s: number | null, high_s: number | null} | null} b
 * @returns {"a" | "b" | "same" | ""}
 */
export function faster(a, b) {
  if (a?.low_s == null || b?.low_s == null || a.high_s == null || b.high_s == null) return "";
  if (a.high_s < b.low_s) return "a";
  if (b.high_s < a.low_s) return "b";
  return "same";
}

/** Format a ratio as a signed difference to 1: "+1.2 %". @param {number} ratio */
export function signedShare(ratio) {
  const text = formatPercent(Math.abs(ratio - 1));
  return text === "0 %" || text === "0.0 %" ? "±0 %" : `${ratio < 1 ? "−" : "+"}${text}`;
}

/**
 * Return the operator counts of two graphs; different counts come first.
 * @param {StageGraph} a
 * @param {StageGraph} b
 * @returns {{op: string, a: number, b: number}[]}
 */
export function operatorsOf(a, b) {
  /** @type {Map<string, {op: string, a: number, b: number}>} */
  const rows = new Map();
  for (const [side, graph] of /** @type {["a" | "b", StageGraph][]} */ ([["a", a], ["b", b]])) {
    for (const node of graph.nodes) {
      if (node.kind !== "node") continue;
      const row = rows.get(node.op) ?? { op: node.op, a: 0, b: 0 };
      row[side] += 1;
      rows.set(node.op, row);
    }
  }
  const gap = (/** @type {{a: number, b: number}} */ row) => Math.abs(row.a - row.b);
  return [...rows.values()].sort((x, y) => gap(y) - gap(x) || y.a - x.a || x.op.localeCompare(y.op));
}
