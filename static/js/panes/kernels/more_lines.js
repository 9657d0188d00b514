// The button below a truncated text that draws the remaining lines.
import { el } from "../../elements/dom.js";
import { word } from "../../text/words.js";

/**
 * @param {number} n number of lines not drawn yet
 * @param {() => void} onclick draws these lines
 * @returns {HTMLElement}
 */
export function moreLines(n, onclick) {
  const button = el("button", { class: "button", type: "button", onclick }, word("text.more", { n }));
  return el("p", { class: "pane-note" }, button);
}
