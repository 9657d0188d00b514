// Break opportunities in long names, after underscores, points, slashes and colons: without them, a
// narrow column breaks names inside words.

/** Names that may exceed a narrow column; shorter texts stay whole. */
const LONG = 12;
const JOINT = /(?<=[\p{L}\p{N}][_./:]+)(?=[\p{L}\p{N}])/u;

/**
 * Split a text at the places where a line may break.
 * @param {string} text
 * @returns {string[]} parts; numbers such as 1.25 stay whole
 */
export function breakable(text) {
  /** @type {string[]} */
  const parts = [""];
  for (const word of text.split(/(?<=\s)/)) {
    const [first, ...rest] = word.length < LONG || !/\p{L}/u.test(word) ? [word] : word.split(JOINT);
    parts[parts.length - 1] += first;
    parts.push(...rest);
  }
  return parts;
}

/**
 * Insert break opportunities into the texts of an element.
 * @template {Element} T
 * @param {T} element
 * @returns {T} the same element
 */
export function breakNames(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  /** @type {Text[]} */
  const texts = [];
  while (walker.nextNode()) texts.push(/** @type {Text} */ (walker.currentNode));
  for (const text of texts) {
    const parts = breakable(text.data);
    if (parts.length === 1) continue;
    const joined = parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part]));
    text.replaceWith(...joined);
  }
  return element;
}
