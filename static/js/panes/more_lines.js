// What stands below a long text that is drawn in part: a button for the rest of it.
import { el } from "../dom.js";
import { word } from "../words.js";

/**
 * @param {number} n lines that are not drawn yet
 * @param {() => void} onclick draws them
 * @returns {HTMLElement}
 */
export function moreLines(n, onclick) {
  const button = el("button", { class: "button", type: "button", onclick }, word("text.more", { n }));
  return el("p", { class: "pane-note" }, button);
}
