// Elements: large figures with labels, and bars for shares.
import { el } from "./dom.js";
import { word } from "../text/words.js";

/**
 * @param {string} key key of the label in templates/words
 * @param {string} text
 */
export function figure(key, text) {
  return el("div", { class: "figure-number" }, el("dt", {}, word(key)), el("dd", {}, text));
}

/** @param {number} share */
export function bar(share) {
  const fill = el("div", { class: "bar-fill" });
  fill.style.setProperty("--share", share.toFixed(4));
  return el("div", { class: "bar-track" }, fill);
}
