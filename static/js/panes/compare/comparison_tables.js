// The figures of two results as tables, with A and B side by side.
import { figuresOf, operatorsOf } from "../../results/comparison.js";
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
