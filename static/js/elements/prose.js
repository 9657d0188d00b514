// Renders text from docstrings: paragraphs, and `code` between backticks.
import { el } from "./dom.js";
import { unbroken } from "../text/format.js";
import { noteText } from "../text/terms.js";

/**
 * Return the paragraphs of a docstring.
 * @param {string} words
 * @returns {string[]}
 */
export function paragraphs(words) {
  return words
    .split(/\n\s*\n/)
    .map((each) => each.trim())
    .filter(Boolean);
}

/**
 * Return a paragraph as an element.
 * @param {string} text
 * @param {string} [className]
 * @returns {HTMLParagraphElement}
 */
export function prose(text, className = "") {
  // Pieces with an odd index were between backticks.
  return el(
    "p",
    { class: className },
    ...text.split("`").map((piece, i) => (i % 2 ? el("code", {}, piece) : noteText(unbroken(piece)))),
  );
}
