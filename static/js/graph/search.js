// Finding nodes by what is written about them.

/**
 * Keys of the shown nodes in which every word of the query occurs, from the top down.
 * @param {import("./scene.js").Scene} scene
 * @param {string} query
 * @returns {string[]}
 */
export function searchNodes(scene, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return scene.nodes
    .filter((node) => node.shown && words.every((each) => textOf(node).includes(each)))
    .sort((a, b) => a.y - b.y || a.x - b.x)
    .map((node) => node.key);
}

/** @param {import("./scene.js").SceneNode} sceneNode */
function textOf({ label, sub, ids, node }) {
  const parts = [
    label,
    sub,
    ...ids,
    ...(node ? [node.name, node.op, ...node.types, ...node.origins] : []),
  ];
  return parts.join(" ").toLowerCase();
}
