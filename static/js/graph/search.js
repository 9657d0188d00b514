// Finds nodes by their text, including nodes in closed groups.

/** @typedef {{key: string, id: string}} Found `key` of the node's box */

/**
 * Return the visible nodes whose text contains every word of the query, from top to bottom.
 * @param {import("./scene.js").Scene} scene
 * @param {string} query
 * @returns {Found[]}
 */
export function searchNodes(scene, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return scene.nodes
    .filter((box) => box.shown)
    .sort((a, b) => a.y - b.y || a.x - b.x)
    .flatMap((box) => {
      const drawn = box.node ? ` ${box.label} ${box.sub}`.toLowerCase() : "";
      return box.ids
        .flatMap((id) => scene.states.get(id)?.node ?? [])
        .filter((node) => words.every((word) => (textOf(node) + drawn).includes(word)))
        .map(({ id }) => ({ key: box.key, id }));
    });
}

/** @param {import("../wire.js").GraphNode} node */
function textOf({ id, name, op, outputs, types, origins }) {
  return [id, name, op, ...outputs, ...types, ...origins].join(" ").toLowerCase();
}
