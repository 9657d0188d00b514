// Short links: the state embedded by the server, and URLs to share.

/**
 * @typedef {import("../wire.js").SharedLink} SharedLink
 * @typedef {{link: SharedLink | null, problem: import("./page.js").PageProblem | null}} Opened
 */

/** Size of an embedded page, chosen to fit most articles. */
const EMBED_PX = { width: 960, height: 480 };

/**
 * Return the link that opened the page, or the problem with this link; both are null for other pages.
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
 * Return whether another version of the compiler created the link.
 * @param {SharedLink | null} link
 */
export function isOfAnotherVersion(link) {
  return link !== null && link.made_with !== link.program;
}

/**
 * Return HTML that embeds a link in another page.
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
