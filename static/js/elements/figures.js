// Elements: large figures with labels, and bars for shares.
import { el } from "./dom.js";
import { figureWords, formatFigure } from "../text/figures.js";
import { word } from "../text/words.js";

/**
 * @param {string} key key of the label in templates/words
 * @param {string} text
 */
export function figure(key, text) {
  return el("div", { class: "figure-number" }, el("dt", {}, word(key)), el("dd", {}, text));
}

/**
 * Create a figure that compiler/figures declares; its label, definition and unit come from there.
 * @param {string} name
 * @param {number | null} value
 */
export function declaredFigure(name, value) {
  const { title, words } = figureWords(name);
  return el(
    "div",
    { class: "figure-number", "data-figure": name, title: words },
    el("dt", {}, title),
    el("dd", {}, formatFigure(name, value)),
  );
}

/** @param {number} share */
export function bar(share) {
  const fill = el("div", { class: "bar-fill" });
  fill.style.setProperty("--share", share.toFixed(4));
  return el("div", { class: "bar-track" }, fill);
}
