// Models written in the page: their text in links, and completions.

/** @typedef {{language: "ir" | "py", text: string}} WrittenText */
/** @typedef {{name: string, signature: string, words: string, family: string}} Known a function that a text may call */

/**
 * @typedef {object} Reading the last check of the text in the editor
 * @property {Omit<import("../wire.js").CheckedText, "problems"> & {problems: import("../state/page.js").PageProblem[]}} found
 * @property {boolean} failed whether the check failed to examine the text
 */

/** Maximum length of a text in a URL; a short link holds two such texts. */
export const LINK_CHARACTERS = 40_000;

/**
 * Return the number of characters that a text takes in a URL.
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
 * Return the message about a text before compilation, and whether Compile is enabled: it is disabled if the
 * text has errors. After a failed check it is enabled, and the compiler reports the errors.
 * @param {Reading | null} reading null before the first check
 * @returns {{offered: boolean, key: string, n: number, first: import("../state/page.js").PageProblem | null}} key of the words
 */
export function verdictOn(reading) {
  if (reading === null) return { offered: false, key: "write.reading", n: 0, first: null };
  const { problems } = reading.found;
  const [first = null] = problems;
  if (reading.failed) return { offered: true, key: "write.unread", n: 0, first };
  if (first) return { offered: false, key: "write.wrong", n: problems.length, first };
  return { offered: true, key: "start.chosen", n: 0, first };
}

/**
 * Return whether Compile is enabled: a model is chosen, no job runs, and a written text has no errors.
 * @param {Pick<import("../state/page.js").Page, "screen" | "model" | "progress" | "reading">} page
 */
export const canCompile = ({ screen, model, progress, reading }) =>
  model !== "" &&
  progress.state === "" &&
  (model !== "written" || screen === "walk" || verdictOn(reading).offered);

/**
 * Return the position of a problem in a text, "3:20"; the code of the problem if it has no position.
 * @param {import("../state/page.js").PageProblem} problem
 */
export const placeOf = ({ code, where }) => (where?.line ? `${where.line}:${where.column}` : code);

/**
 * Return completions of the word before the caret: names of the text, functions, then attributes of the call.
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
 * Return the function whose argument list is open at the end of a text.
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
