// What a short link is, here: the state that the server put into the page, and addresses to share.

/**
 * @typedef {import("./wire.js").SharedLink} SharedLink
 * @typedef {{link: SharedLink | null, problem: import("./page.js").PageProblem | null}} Opened
 */

/** Of an embedded page: sides that fit into most articles. */
const EMBED_PX = { width: 960, height: 480 };

/**
 * The link that the page was opened by, or why there is none; neither for a page without one.
 * @param {Pick<Document, "getElementById">} document
 * @returns {Opened}
 */
export function openedLink(document) {
  const text = document.getElementById("link")?.textContent;
  if (!text) return { link: null, problem: null };
  const said = JSON.parse(text);
  return said.error ? { link: null, problem: said.error } : { link: said, problem: null };
}

/**
 * Whether the link was made by another version of the compiler than the one that opens it.
 * @param {SharedLink | null} link
 */
export function isOfAnotherVersion(link) {
  return link !== null && link.made_with !== link.program;
}

/**
 * Markup that shows a link inside another page.
 * @param {string} origin of this server
 * @param {SharedLink} link
 * @param {string} title
 */
export function embedMarkup(origin, link, title) {
  const { width, height } = EMBED_PX;
  return `<iframe src="${origin}/embed${link.path}" width="${width}" height="${height}" title="${attribute(title)}" style="border:0;max-width:100%" loading="lazy"></iframe>`;
}

/** @param {string} text */
function attribute(text) {
  const names = /** @type {Record<string, string>} */ ({ "&": "amp", '"': "quot", "<": "lt", ">": "gt" });
  return text.replace(/[&"<>]/g, (c) => `&${names[c]};`);
}
