// The figures of two results as tables, with A and B side by side.
import { faster, figuresOf, operatorsOf } from "../../results/comparison.js";
import { el } from "../../elements/dom.js";
import { formatBytes, formatCount, formatDelta, formatError, formatPercent, formatSeconds } from "../../text/format.js";
import { word } from "../../text/words.js";

/**
 * @typedef {import("../../wire.js").Result} Result
 * @typedef {import("../../wire.js").StageGraph} StageGraph
 * @typedef {import("../../results/comparison.js").Figure} Figure
 */

/**
 * @param {Result} a
 * @param {Result} b
 * @param {StageGraph} graphA
 * @param {StageGraph} graphB
 * @returns {HTMLElement[]}
 */
export function comparisonTables(a, b, graphA, graphB) {
  return [
    section("compare.measured", measured(a, b)),
    section(
      "compare.figures",
      table(word("compare.figures"), ["", "A", "B", "B − A"], figuresOf(a, b).map(figureRow)),
    ),
    section(
      "compare.structure",
      table(
        word("compare.structure"),
        [word("table.operator"), "A", "B", "B − A"],
        operatorsOf(graphA, graphB).map((row) => [
          el("code", {}, row.op),
          formatCount(row.a),
          formatCount(row.b),
          row.a === row.b ? "" : formatDelta(row.b - row.a),
        ]),
      ),
    ),
  ];
}

/**
 * @param {string} key
 * @param {...HTMLElement} content
 */
function section(key, ...content) {
  return el("section", { class: "section", "data-section": key.replace(".", "-") }, el("h3", {}, word(key)), ...content);
}

/**
 * @param {string} label
 * @param {(string | Node)[]} head
 * @param {(string | Node)[][]} rows
 */
function table(label, head, rows) {
  return el(
    "div",
    { class: "table-wrap", tabIndex: 0, role: "region", "aria-label": label },
    el(
      "table",
      { class: "table" },
      el("thead", {}, el("tr", {}, ...head.map((text, i) => (text === "" ? el("td", {}) : el("th", { scope: "col", class: i ? "number" : "" }, text))))),
      el(
        "tbody",
        {},
        ...rows.map(([name, ...cells]) =>
          el("tr", {}, el("th", { scope: "row" }, name), ...cells.map((cell) => el("td", { class: "number" }, cell))),
        ),
      ),
    ),
  );
}

/** @param {Figure} figure */
function figureRow({ key, unit, a, b }) {
  return [word(`compare.${key}`), shown(a, unit), shown(b, unit), change(a, b, unit)];
}

/**
 * @param {number | null} value
 * @param {Figure["unit"]} unit
 */
function shown(value, unit) {
  if (value === null) return "–";
  if (unit === "bytes") return formatBytes(value);
  if (unit === "seconds") return formatSeconds(value);
  return unit === "error" ? formatError(value) : formatCount(value);
}

/**
 * @param {number | null} a
 * @param {number | null} b
 * @param {Figure["unit"]} unit
 */
function change(a, b, unit) {
  if (a === null || b === null || a === b || unit === "error") return "";
  if (unit === "count") return formatDelta(b - a);
  const share = a ? ` (${b > a ? "+" : "−"}${formatPercent(Math.abs(b - a) / a)})` : "";
  const size = unit === "bytes" ? formatBytes(Math.abs(b - a)) : formatSeconds(Math.abs(b - a));
  return `${b > a ? "+" : "−"}${size}${share}`;
}

/**
 * Draw the intervals of A and B on one scale, with the verdict.
 * @param {Result} a
 * @param {Result} b
 */
function measured(a, b) {
  const [x, y] = [a.run, b.run];
  if (x?.median_s == null || y?.median_s == null) return el("p", { class: "muted" }, word("compare.not-measured"));
  const most = 1.08 * Math.max(x.high_s ?? x.median_s, y.high_s ?? y.median_s);
  const verdict = faster(x, y);
  const ratio = (Math.max(x.median_s, y.median_s) / Math.min(x.median_s, y.median_s)).toFixed(2);
  return el(
    "div",
    { class: "compare-measured", "data-faster": verdict },
    ...[["A", x], ["B", y]].map(([name, run]) => interval(String(name), /** @type {NonNullable<Result["run"]>} */ (run), most)),
    el("p", {}, el("strong", {}, word(`compare.faster-${verdict || "unknown"}`, { ratio }))),
    el("p", { class: "muted" }, word("compare.honest", { n: x.repeats, m: y.repeats, host: b.host.name })),
  );
}

/**
 * @param {string} name
 * @param {NonNullable<Result["run"]>} run
 * @param {number} most seconds at the right end
 */
function interval(name, { median_s, low_s, high_s }, most) {
  const low = low_s ?? median_s ?? 0;
  const high = high_s ?? median_s ?? 0;
  const bar = el("div", { class: "compare-bar", "aria-hidden": "true" }, el("span", {}), el("i", {}));
  bar.style.setProperty("--median", String((median_s ?? 0) / most));
  bar.style.setProperty("--low", String(low / most));
  bar.style.setProperty("--high", String(high / most));
  return el(
    "div",
    { class: "compare-interval" },
    el("strong", {}, name),
    bar,
    el("span", { class: "number" }, formatSeconds(median_s ?? 0), el("span", { class: "muted" }, ` ${word("compare.interval", { low: formatSeconds(low), high: formatSeconds(high) })}`)),
  );
}
