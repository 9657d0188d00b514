// Walks from node to node: neighbours, and targets of arrow keys.
import { incidentEdges } from "./edge_index.js";

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
    if (!box || box.open) continue;
    for (const [source, target] of box.ids.flatMap((id) => shown.flatMap((graph) => incidentEdges(graph, id)))) {
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
  if (!here || !here.shown || here.open) {
    const inside = scene.nodes.filter((n) => n.shown && (!here?.open || n.around.includes(from)));
    return inside.sort((a, b) => a.y - b.y || a.x - b.x)[0]?.key ?? "";
  }
  if (direction === "before" || direction === "after") {
    const next = [...neighboursOf(scene, new Set([from]))[direction]]
      .map((key) => scene.byKey.get(key))
      .filter((n) => n?.shown);
    next.sort((a, b) => Math.abs((a?.x ?? 0) - here.x) - Math.abs((b?.x ?? 0) - here.x));
    return next[0]?.key ?? from;
  }
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
