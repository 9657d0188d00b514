// The positions of the union's nodes at all stages: the nested layouts of the open groups.
import { synchronously } from "../elements/scheduling.js";
import { gridSteps } from "./grid.js";
import { nest } from "./nesting.js";

/**
 * @typedef {import("../wire.js").Union} Union
 * @typedef {import("./dot_layout.js").Layout} Layout
 *
 * @typedef {"node" | import("../wire.js").UnionGroup["kind"]} Kind
 *
 * @typedef {object} Place
 * @property {string} key
 * @property {string[]} around keys of the enclosing open groups, outermost first
 * @property {string[]} ids one node, or all nodes of a group
 * @property {string} node id of the node, or of the control-flow node whose bodies are the group; "" for other groups
 * @property {string} label label of a group; "" for a node, whose label depends on the stage
 * @property {number} times number of equal blocks in a group, 1 if there are none
 * @property {Kind} kind
 * @property {number} x
 * @property {number} y
 * @property {number} w
 * @property {number} h
 *
 * @typedef {object} Places
 * @property {number} width
 * @property {number} height
 * @property {Place[]} places nodes and closed groups
 * @property {Place[]} frames open groups, outer before inner
 * @property {Map<string, Place>} placeOf id of a node -> the place that contains the node; the frame of its bodies if open
 * @property {Map<string, string>} keyOf id of a node -> the key of its place
 * @property {EdgePlace[]} edges
 * @property {Map<string, number>} edgeAt index of a segment among the edges, by key
 * @property {import("./grid.js").Finder} nodesIn finds the places that overlap some bounds
 * @property {import("./grid.js").Finder} edgesIn
 *
 * @typedef {object} EdgePlace a segment of edges of the model: between two boxes, or a box and a group's border
 * @property {string} key
 * @property {string} from
 * @property {string} to
 * @property {boolean} ends whether edges end here instead of continuing into or out of a group
 * @property {number[]} path x and y of the start, then of three points per Bézier segment
 * @property {import("./grid.js").Bounds} box
 */

/** Nodes of the union placed per step. */
const NODES_PER_STEP = 512;

/**
 * Join the union with the layouts of its open groups.
 * @param {Union} union
 * @param {Set<string>} open
 * @param {Map<string, Layout>} layouts
 * @returns {Places}
 */
export function placeUnion(union, open, layouts) {
  return synchronously(placeSteps(union, open, layouts));
}

/**
 * Join the union with the layouts in short steps.
 * @param {Union} union
 * @param {Set<string>} open
 * @param {Map<string, Layout>} layouts
 * @returns {Generator<void, Places>}
 */
export function* placeSteps(union, open, layouts) {
  const { width, height, boxes, frames, edges } = yield* nest(union, open, layouts);
  /** @type {Map<string, Place>} */
  const placeOf = new Map();
  /** @type {Map<string, string>} */
  const keyOf = new Map();
  for (const place of boxes) {
    for (const id of place.ids) {
      placeOf.set(id, place);
      keyOf.set(id, place.key);
      if (placeOf.size % NODES_PER_STEP === 0) yield;
    }
  }
  for (const frame of frames.filter(({ node }) => node !== "")) {
    placeOf.set(frame.node, frame);
    keyOf.set(frame.node, frame.key);
  }
  const edgeAt = new Map(edges.map(({ key }, i) => [key, i]));
  yield;
  const nodesIn = yield* gridSteps(boxes.map(({ x, y, w, h }) => [x - w / 2, y - h / 2, x + w / 2, y + h / 2]));
  const edgesIn = yield* gridSteps(edges.map(({ box }) => box));
  return { width, height, places: boxes, frames, placeOf, keyOf, edges, edgeAt, nodesIn, edgesIn };
}
