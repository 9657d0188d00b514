// The English of the page, read from templates/words/: `word("n-nodes", {n: 3})`.

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
      const many = (each.textContent ?? "").replace(/\s+/g, " ").trim();
      table.set(each.getAttribute("data-word") ?? "", {
        many,
        one: each.getAttribute("data-one") ?? many,
      });
    }
  }
  return table;
}

/** What is written from right to left, or says that what follows is. */
const TURNS = /[\p{Bidi_Control}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

/** A name of a model in a sentence: it may turn itself, not the words around it. @param {string} text */
const apart = (text) => (TURNS.test(text) ? `\u2068${text}\u2069` : text);

/**
 * The sentence with this key; `{name}` is replaced, and `data-one` chosen when `n` is 1.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function word(key, values = {}) {
  const found = words().get(key);
  if (!found) throw new Error(`templates/words/ has no ${key}`);
  const text = values.n === 1 ? found.one : found.many;
  return text.replace(/\{(\w+)\}/g, (whole, name) =>
    name in values ? apart(String(values[name])) : whole,
  );
}

/**
 * @param {string} key
 * @returns {boolean}
 */
export function hasWord(key) {
  return words().has(key);
}
