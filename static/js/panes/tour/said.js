// A sentence of the tour before its words are looked up, so that the choice of sentences needs no page.
import { el } from "../../elements/dom.js";
import { formatCount } from "../../text/format.js";
import { noteText } from "../../text/terms.js";
import { word } from "../../text/words.js";

/** @typedef {[key: string, values?: Record<string, string | number | Said>]} Said */

/**
 * Return a count with its noun.
 * @param {string} key a key whose words contain `{count}`
 * @param {number} n
 * @returns {Said}
 */
export const counted = (key, n) => [key, numbered(n)];

/**
 * Return the values of a sentence with a count: the number for the choice of the singular, and its text.
 * @param {number} n
 */
export const numbered = (n) => ({ n, count: formatCount(n) });

/** Marks around the values of a sentence; no text contains these characters of the private use area. */
const [START, END] = ["\uE000", "\uE001"];

/**
 * Return a sentence as nodes, with emphasised values.
 * @param {Said} said
 * @returns {(string | HTMLElement)[]}
 */
export function sentence([key, values = {}]) {
  const texts = Object.entries(values).map(([name, value]) => [name, name === "n" ? value : marked(value)]);
  return word(key, Object.fromEntries(texts))
    .split(START)
    .flatMap((piece, i) => {
      if (i === 0) return [noteText(piece)];
      const [value, rest] = piece.split(END);
      return [el("strong", {}, value), noteText(rest)];
    });
}

/** @param {string | number | Said} value */
function marked(value) {
  const text = Array.isArray(value) ? textOf(value) : String(value).replaceAll(START, "").replaceAll(END, "");
  return START + text + END;
}

/** @param {Said} said @returns {string} */
function textOf([key, values = {}]) {
  const texts = Object.entries(values).map(([name, value]) => [name, Array.isArray(value) ? textOf(value) : value]);
  return word(key, Object.fromEntries(texts));
}
