// Walks from node to node: neighbours, and targets of arrow keys.
import { incidentEdges } from "./edge_index.js";
import { ownIds } from "./own_ids.js";

/**
 * @typedef {import("./scene.js").Scene} Scene
 */

/**
 * Return the neighbours of some boxes along edges.
 * @param {Scene} scene
 * @param {Set<string>} keys
 * @returns {{before: Set<string>, after: Set<string>}} keys of their operands and of their readers
 */
export function neighboursOf({ byKey, keyOf, shown }, keys) {
  /** @type {Set<string>} */
  const before = new Set();
  /** @type {Set<string>} */
  const after = new Set();
  for (const key of keys) {
    const box = byKey.get(key);
    if (!box) continue;
    for (const [source, target] of ownIds(box).flatMap((id) => shown.flatMap((graph) => incidentEdges(graph, id)))) {
      const [from, to] = [keyOf.get(source), keyOf.get(target)];
      if (from === undefined || to === undefined || from === to) continue;
      if (from === key) after.add(to);
      else before.add(from);
    }
  }
  return { before, after };
}

/**
 * Return the target of an arrow key: up and down along the edges, sideways to the nearest node.
 * @param {Scene} scene
 * @param {string} from key, "" for the start
 * @param {"before" | "after" | "left" | "right"} direction
 * @returns {string} key, or `from` if there is none
 */
export function walk(scene, from, direction) {
  const here = scene.byKey.get(from);
  const isVertical = direction === "before" || direction === "after";
  const isEntered = here?.open && !(here.node && direction === "before");
  if (!here || !here.shown || isEntered) {
    const inside = scene.nodes.filter((n) => n.shown && (!here?.open || n.around.includes(from)));
    return inside.sort((a, b) => a.y - b.y || a.x - b.x)[0]?.key ?? "";
  }
  if (isVertical) return nearest(scene, from, direction) || outOfBody(scene, here, direction) || from;
  const sign = direction === "left" ? -1 : 1;
  let best = from;
  let least = Infinity;
  for (const node of scene.nodes) {
    const dx = (node.x - here.x) * sign;
    if (!node.shown || dx < 1) continue;
    const distance = dx + 4 * Math.abs(node.y - here.y);
    if (distance < least) [best, least] = [node.key, distance];
  }
  return best;
}

/**
 * Return the nearest operand or reader of a box, "" if there is none.
 * @param {Scene} scene
 * @param {string} from
 * @param {"before" | "after"} direction
 */
function nearest(scene, from, direction) {
  const here = scene.byKey.get(from);
  const next = [...neighboursOf(scene, new Set([from]))[direction]]
    .map((key) => scene.byKey.get(key))
    .filter((n) => n?.shown);
  next.sort((a, b) => Math.abs((a?.x ?? 0) - (here?.x ?? 0)) - Math.abs((b?.x ?? 0) - (here?.x ?? 0)));
  return next[0]?.key ?? "";
}

/**
 * Leave the body of a control-flow node: up to the node itself, down to its readers.
 * @param {Scene} scene
 * @param {import("./scene.js").SceneNode} here
 * @param {"before" | "after"} direction
 * @returns {string} key, "" outside all bodies
 */
function outOfBody(scene, { around }, direction) {
  for (const key of [...around].reverse()) {
    if (!scene.byKey.get(key)?.node) continue;
    const found = direction === "before" ? key : nearest(scene, key, direction);
    if (found) return found;
  }
  return "";
}
