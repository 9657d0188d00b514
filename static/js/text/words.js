// The texts of the page, read from templates/words/: `word("n-nodes", {n: 3})`.
import { mayHaveTerms, noteSentence } from "./terms.js";

/** @type {Map<string, {many: string, one: string}> | null} */
let table = null;

/**
 * @returns {Map<string, {many: string, one: string}>}
 */
function words() {
  if (table) return table;
  table = new Map();
  const template = document.getElementById("words");
  if (template instanceof HTMLTemplateElement) {
    for (const each of template.content.querySelectorAll("[data-word]")) {
      // A no-break space, such as that before a unit, remains.
      const many = (each.textContent ?? "").replace(/[\t\n\r ]+/g, " ").trim();
      table.set(each.getAttribute("data-word") ?? "", {
        many,
        one: each.getAttribute("data-one") ?? many,
      });
    }
  }
  return table;
}

/** Characters of right-to-left scripts, and direction control characters. */
const TURNS = /[\p{Bidi_Control}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

/** Isolate a right-to-left name of a model, so that it does not reorder the sentence around it. @param {string} text */
const apart = (text) => (TURNS.test(text) ? `\u2068${text}\u2069` : text);

/**
 * Return the text with this key; `{name}` is replaced, and `data-one` is used if `n` is 1.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function word(key, values = {}) {
  const found = words().get(key);
  if (!found) throw new Error(`templates/words/ has no ${key}`);
  const template = values.n === 1 ? found.one : found.many;
  // The odd parts are names of values.
  const parts = template
    .split(/\{(\w+)\}/)
    .map((part, i) => (i % 2 === 0 ? part : part in values ? apart(String(values[part])) : `{${part}}`));
  const text = parts.join("");
  if (mayHaveTerms(template)) noteSentence(text, parts);
  return text;
}

/**
 * @param {string} key
 * @returns {boolean}
 */
export function hasWord(key) {
  return words().has(key);
}
