// Finds nodes by their text, including nodes in closed groups.

import { ownIds } from "./own_ids.js";

/**
 * @typedef {object} Found
 * @property {string} key key of the node's box
 * @property {string} id
 * @property {boolean} isHidden whether the node is in a closed group
 */

/**
 * Return the visible nodes whose text contains every word of the query, from top to bottom.
 * @param {import("./scene.js").Scene} scene
 * @param {string} query
 * @returns {Found[]}
 */
export function searchNodes(scene, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return [...scene.nodes, ...scene.frames.filter(({ node }) => node !== null)]
    .filter((box) => box.shown)
    .sort((a, b) => heightOf(a) - heightOf(b) || a.x - b.x)
    .flatMap((box) => {
      const drawn = box.node ? ` ${box.label} ${box.sub}`.toLowerCase() : "";
      return ownIds(box)
        .flatMap((id) => scene.states.get(id)?.node ?? [])
        .filter((node) => {
          const text = textOf(node) + (node.id === box.id ? drawn : "");
          return words.every((word) => text.includes(word));
        })
        .map(({ id }) => ({ key: box.key, id, isHidden: id !== box.id }));
    });
}

/** @param {import("../wire.js").GraphNode} node */
function textOf({ id, name, op, outputs, types, origins }) {
  return [id, name, op, ...outputs, ...types, ...origins].join(" ").toLowerCase();
}

/** Return the height at which a box begins to be read. @param {import("./scene.js").SceneNode} box */
function heightOf({ open, y, h }) {
  return open ? y - h / 2 : y;
}
