// Models that are written in the page: their text as a link keeps it, and what may stand at a place in it.

/** @typedef {{language: "ir" | "py", text: string}} WrittenText */
/** @typedef {{name: string, signature: string, words: string, family: string}} Known a function that a text may call */

/** What a text may take up of an address; a short link has room for two of them. */
export const LINK_CHARACTERS = 40_000;

/**
 * How many characters a text takes up in an address.
 * @param {string} text
 */
export const lengthInLink = (text) => new URLSearchParams({ t: text }).toString().length - 2;

/**
 * @param {string} written "py:..." or "ir:..."
 * @returns {WrittenText}
 */
export function splitText(written) {
  return { language: written.startsWith("ir:") ? "ir" : "py", text: written.slice(3) };
}

/**
 * What could complete the word before the caret: names of the text, functions, then attributes of the call.
 * @param {string} text
 * @param {number} at the caret
 * @param {Known[]} functions
 * @param {string[]} names defined by the text
 * @returns {{from: number, found: {label: string, insert: string, detail: string}[]}}
 */
export function completions(text, at, functions, names) {
  const word = /[A-Za-z_]\w*$/.exec(text.slice(0, at))?.[0] ?? "";
  const from = at - word.length;
  const call = enclosingCall(text.slice(0, from));
  const known = functions.find(({ name }) => name === call);
  const attributes = (known?.signature.match(/\w+=/g) ?? []).map((each) => ({
    label: each,
    insert: each,
    detail: known?.signature ?? "",
  }));
  const own = [...new Set(names)].map((name) => ({ label: name, insert: name, detail: "" }));
  const calls = functions.map(({ name, signature, words }) => ({
    label: name,
    insert: `${name}(`,
    detail: `${signature}  ${words.split("\n")[0]}`,
  }));
  const found = [...attributes, ...own, ...calls].filter(
    ({ label }) => label.startsWith(word) && label !== word,
  );
  return { from, found: found.slice(0, 8) };
}

/**
 * The function whose parentheses are open at the end of a text.
 * @param {string} before
 * @returns {string}
 */
function enclosingCall(before) {
  let depth = 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    if (")]}".includes(before[i])) depth += 1;
    else if ("([{".includes(before[i])) {
      if (depth === 0) return before[i] === "(" ? (/(\w+)\s*$/.exec(before.slice(0, i))?.[1] ?? "") : enclosingCall(before.slice(0, i));
      depth -= 1;
    }
  }
  return "";
}
