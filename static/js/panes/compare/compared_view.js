// The verdict on two programs: a sentence, the interval as a drawing, and a table of times.
import { el } from "../../elements/dom.js";
import { formatPercent, formatSeconds } from "../../text/format.js";
import { signedShare } from "../../results/comparison.js";
import { word } from "../../text/words.js";

/**
 * @typedef {{verdict: string, ratio: number, low: number, high: number}} Verdict
 * @typedef {{key: string, a: number, b: number, found?: Verdict}} TimeRow key of the words, seconds, and the
 *   verdict, if it is not that of the whole comparison
 */

/** Half of the width of the axis, as a share, if the interval is short. */
const LEAST_REACH = 0.02;

/**
 * Return the verdict as a sentence.
 * @param {Verdict} found
 * @param {{a: string, b: string}} names
 */
export function verdictWords({ verdict, ratio, low, high }, { a, b }) {
  const differs = verdict === "slower" || verdict === "faster";
  const shown = differs ? distance : signedShare;
  return word(`comparing.${verdict}`, { a, b, share: shown(ratio), low: shown(low), high: shown(high) });
}

/** Format the distance of a ratio from 1. @param {number} ratio */
const distance = (ratio) => formatPercent(Math.abs(ratio - 1));

/** Draw the interval of the ratio around "equal". @param {Verdict} found */
export function axis({ ratio, low, high }) {
  const reach = 1.1 * Math.max(LEAST_REACH, Math.abs(low - 1), Math.abs(high - 1));
  const at = (/** @type {number} */ value) => String((value - 1 + reach) / (2 * reach));
  const bar = el("div", { class: "compare-axis", "aria-hidden": "true" }, el("i", {}), el("b", {}), el("span", {}));
  bar.style.setProperty("--low", at(low));
  bar.style.setProperty("--high", at(high));
  bar.style.setProperty("--value", at(ratio));
  const ends = [signedShare(1 - reach), word("comparing.equal"), signedShare(1 + reach)];
  return el("div", { class: "compare-scale" }, bar, el("div", { class: "compare-ends muted", "aria-hidden": "true" }, ...ends.map((text) => el("span", {}, text))));
}

/**
 * Return the table of the times of two programs.
 * @param {TimeRow[]} rows
 * @param {{a: string, b: string}} names
 */
export function timesTable(rows, { a, b }) {
  const head = ["", a, b, word("comparing.difference")].map((text, i) => (i ? el("th", { scope: "col", class: "number" }, text) : el("td", {})));
  const table = el("table", { class: "table" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows.map(row)));
  return el("div", { class: "table-wrap", tabIndex: 0, role: "region", "aria-label": word("compare.measured") }, table);
}

/** Return the difference of whole runs, or the reason for its absence. @param {Verdict} found */
function runsWords({ verdict, ratio, low, high }) {
  if (verdict === "same" || verdict === "unknown") return word(`comparing.run-${verdict}`);
  return `${signedShare(ratio)} (${signedShare(low)} … ${signedShare(high)})`;
}

/** @param {TimeRow} times */
function row({ key, a, b, found }) {
  const change = found ? runsWords(found) : `${b < a ? "−" : "+"}${formatSeconds(Math.abs(b - a))} (${signedShare(b / a)})`;
  const cells = [formatSeconds(a), formatSeconds(b), change];
  return el("tr", {}, el("th", { scope: "row" }, word(key)), ...cells.map((text) => el("td", { class: "number" }, text)));
}
