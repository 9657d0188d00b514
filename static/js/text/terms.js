// The terms of the glossary in texts of the page. Templates and docstrings are the page's own words; names
// and texts of users are not, so terms are found only in texts that were noted here.

/**
 * @typedef {{id: string, text: string}} Found a term as it occurs in a text
 * @typedef {(string | Found)[]} Pieces a text, cut at its terms
 */

/** Maximum number of noted texts; the oldest are forgotten. */
const MOST = 4000;

/** @type {{pattern: RegExp, ids: Map<string, string>} | null} */
let forms = null;

/** The noted texts with terms. @type {Map<string, Pieces>} */
const noted = new Map();

/**
 * Declare the terms, with the forms in which texts use them.
 * @param {{id: string, forms: string[]}[]} terms
 */
export function declareTerms(terms) {
  known.clear();
  const ids = new Map(terms.flatMap(({ id, forms: all }) => all.map((form) => [form.toLowerCase(), id])));
  const longestFirst = [...ids.keys()].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  const literal = longestFirst.map((form) => form.replace(/[^\w ]/g, "\\$&").replace(/ /g, "\\s+"));
  forms = ids.size
    ? { ids, pattern: new RegExp(`(?<![\\w-])(?:${literal.join("|")})(?![\\w-])`, "gi") }
    : null;
}

/**
 * Cut a text at its terms.
 * @param {string} text
 * @returns {Pieces}
 */
export function piecesOf(text) {
  if (!forms) return [text];
  /** @type {Pieces} */
  const pieces = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(forms.pattern)) {
    if (index > end) pieces.push(text.slice(end, index));
    pieces.push({ id: forms.ids.get(found.toLowerCase().replace(/\s+/g, " ")) ?? "", text: found });
    end = index + found.length;
  }
  if (end < text.length) pieces.push(text.slice(end));
  return pieces;
}

/** Whether a template has terms, by template: most have none, and some are filled in thousands of times. @type {Map<string, boolean>} */
const known = new Map();

/** @param {string} template */
export function mayHaveTerms(template) {
  if (!forms) return false;
  const found = known.get(template) ?? template.search(forms.pattern) >= 0;
  known.set(template, found);
  return found;
}

/**
 * Note a text of the page, and return it.
 * @param {string} text
 */
export function noteText(text) {
  note(text, piecesOf(text));
  return text;
}

/**
 * Note a sentence whose odd parts are values; terms are found in the even parts only.
 * @param {string} sentence
 * @param {string[]} parts
 */
export function noteSentence(sentence, parts) {
  note(sentence, parts.flatMap((part, i) => (i % 2 ? [part] : piecesOf(part))));
}

/** @param {string} text @param {Pieces} pieces */
function note(text, pieces) {
  if (!pieces.some((each) => typeof each !== "string")) return;
  noted.delete(text);
  noted.set(text, pieces);
  if (noted.size > MOST) noted.delete(noted.keys().next().value ?? "");
}

/**
 * Return the pieces of a noted text with terms, undefined for any other text.
 * @param {string} text
 */
export const notedPieces = (text) => noted.get(text);
