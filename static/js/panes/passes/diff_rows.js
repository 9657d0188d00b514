// Rows of a diff, unified or split, built in slices.
import { el } from "../../elements/dom.js";
import { word } from "../../text/words.js";
import { highlighted } from "../kernels/code_lines.js";

/** @typedef {import("../../wire.js").DiffRow} DiffRow */

const KINDS = { "+": "added", "-": "removed", " ": "same", "…": "gap" };

/**
 * @typedef {object} Drawing lines that are built in slices
 * @property {HTMLElement} element
 * @property {number} n number of lines
 * @property {(start: number, end: number) => HTMLElement[]} make builds lines and appends them to the element
 */

/**
 * Create an element for a slice of lines; the browser neither lays out nor paints off-screen slices.
 * @param {HTMLElement[]} lines
 */
function slice(lines) {
  const made = el("div", { class: "code-slice" }, el("div", { class: "code-lines" }, ...lines));
  made.style.setProperty("--lines", String(lines.length));
  return made;
}

/**
 * Build the rows in the unified layout.
 * @param {DiffRow[]} rows
 * @param {string} [language] language for `highlight`
 * @returns {Drawing}
 */
export function unified(rows, language = "") {
  const element = el("div", {});
  return {
    element,
    n: rows.length,
    make(start, end) {
      const made = slice(rows.slice(start, end).map((row) => unifiedLine(row, language)));
      element.append(made);
      return [made];
    },
  };
}

/**
 * @param {DiffRow} row
 * @param {string} language
 */
function unifiedLine([mark, old, now, text], language) {
  if (mark === "…") return gap(old ?? 0, 4);
  return line(
    mark,
    { old, new: now },
    number(old),
    number(now),
    el("span", { class: "code-marker" }, mark === "-" ? "−" : mark),
    el("span", { class: "code-text" }, ...highlighted(language, text)),
  );
}

/**
 * @param {number} n
 * @param {number} columns
 */
function gap(n, columns) {
  const cells = Array.from({ length: columns - 1 }, () => el("span", { class: "code-number" }));
  return el(
    "div",
    { class: "code-line", "data-gap": true },
    ...cells,
    el("span", { class: "code-text" }, word("text.gap", { n })),
  );
}

/**
 * @param {DiffRow[0]} mark
 * @param {{old?: number | null, new?: number | null}} at
 * @param {...HTMLElement} cells
 */
function line(mark, at, ...cells) {
  const element = el("div", { class: "code-line", "data-kind": KINDS[mark] }, ...cells);
  if (at.old !== null && at.old !== undefined) element.dataset.old = String(at.old);
  if (at.new !== null && at.new !== undefined) element.dataset.new = String(at.new);
  return element;
}

/** @param {number | null} at */
function number(at) {
  return el("span", { class: "code-number" }, at === null ? "" : String(at + 1));
}

/**
 * Build the rows in the split layout.
 * @param {DiffRow[]} rows
 * @param {string} [language] language for `highlight`
 * @param {[string, string]} [names] names of the two texts, for screen readers
 * @returns {Drawing}
 */
export function split(rows, language = "", names) {
  const pairs = pair(rows);
  const sides = [0, 1].map((i) =>
    el("div", names ? { tabIndex: 0, role: "region", "aria-label": names[i] } : {}),
  );
  return {
    element: el("div", { class: "split" }, ...sides),
    n: pairs.length,
    make(start, end) {
      const some = pairs.slice(start, end);
      const made = [
        slice(some.map(([old]) => side(old, "old", language))),
        slice(some.map(([, now]) => side(now, "new", language))),
      ];
      sides.forEach((each, i) => each.append(made[i]));
      return made;
    },
  };
}

/**
 * Align removed lines with the added lines that follow.
 * @param {DiffRow[]} rows
 * @returns {[DiffRow | null, DiffRow | null][]}
 */
export function pair(rows) {
  /** @type {[DiffRow | null, DiffRow | null][]} */
  const pairs = [];
  for (let i = 0; i < rows.length;) {
    /** @type {DiffRow[]} */
    const removed = [];
    /** @type {DiffRow[]} */
    const added = [];
    while (rows[i]?.[0] === "-") removed.push(rows[i++]);
    while (rows[i]?.[0] === "+") added.push(rows[i++]);
    for (let k = 0; k < Math.max(removed.length, added.length); k++)
      pairs.push([removed[k] ?? null, added[k] ?? null]);
    if (i < rows.length && rows[i][0] !== "-" && rows[i][0] !== "+")
      pairs.push([rows[i], rows[i++]]);
  }
  return pairs;
}

/**
 * @param {DiffRow | null} row
 * @param {"old" | "new"} which
 * @param {string} language
 */
function side(row, which, language) {
  if (!row)
    return el(
      "div",
      { class: "code-line" },
      el("span", { class: "code-number" }),
      el("span", { class: "code-text" }, "\u00a0"),
    );
  const [mark, old, now, text] = row;
  if (mark === "…") return gap(old ?? 0, 2);
  const at = which === "old" ? old : now;
  return line(
    mark,
    { [which]: at },
    number(at),
    el("span", { class: "code-text" }, ...highlighted(language, text || "\u00a0")),
  );
}
