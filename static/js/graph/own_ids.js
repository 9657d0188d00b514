// The nodes that a drawn box stands for.

/**
 * Return the nodes that a box stands for: the node, all nodes of a closed group, or the control-flow node whose
 * bodies are an open group; an open group of another kind stands for no node.
 * @param {Pick<import("./scene.js").SceneNode, "open" | "ids" | "id">} box
 * @returns {string[]}
 */
export function ownIds({ open, ids, id }) {
  return open ? ids.filter((each) => each === id) : ids;
}
