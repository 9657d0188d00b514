// Finding nodes by what is written about them; closed groups by what is in them.

/**
 * Keys of the shown nodes in which every word of the query occurs, from the top down.
 * @param {import("./scene.js").Scene} scene
 * @param {string} query
 * @returns {string[]}
 */
export function searchNodes(scene, query) {
  const words = wordsOf(query);
  if (words.length === 0) return [];
  return scene.nodes
    .filter((node) => node.shown && (fits(labelOf(node), words) || memberFound(node, query)))
    .sort((a, b) => a.y - b.y || a.x - b.x)
    .map((node) => node.key);
}

/**
 * The first node drawn in a place that fits a query by itself.
 * @param {import("./scene.js").SceneNode} place
 * @param {string} query
 * @returns {import("../wire.js").GraphNode | null}
 */
export function memberFound({ members, label, sub, node }, query) {
  const words = wordsOf(query);
  const drawn = node ? ` ${label} ${sub}` : "";
  return members.find((each) => fits(textOf(each) + drawn.toLowerCase(), words)) ?? null;
}

/** @param {string} query */
function wordsOf(query) {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}

/**
 * @param {string} text
 * @param {string[]} words
 */
function fits(text, words) {
  return words.every((each) => text.includes(each));
}

/** @param {import("./scene.js").SceneNode} place */
function labelOf({ label, sub }) {
  return `${label} ${sub}`.toLowerCase();
}

/** @param {import("../wire.js").GraphNode} node */
function textOf({ id, name, op, types, origins }) {
  return [id, name, op, ...types, ...origins].join(" ").toLowerCase();
}
