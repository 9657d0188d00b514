// From the union's layout and the graphs of two stages to what is drawn: every node keeps the one
// place it has in the union, and says whether it is there, and what the pass did to it.
import { marksOf } from "../snapshots.js";
import { asFamily } from "./families.js";

/**
 * @typedef {import("../wire.js").StageGraph} StageGraph
 * @typedef {import("../wire.js").GraphNode} GraphNode
 * @typedef {import("../wire.js").Union} Union
 * @typedef {import("./dot_layout.js").Layout} Layout
 * @typedef {import("./families.js").Family} Family
 * @typedef {"same" | "added" | "removed" | "changed"} Status
 *
 * @typedef {object} Place
 * @property {string} key
 * @property {string[]} ids what is drawn here: one node, or the members of a closed group
 * @property {string} label "" for a node: it has its own
 * @property {number} x
 * @property {number} y
 * @property {number} w
 * @property {number} h
 *
 * @typedef {object} Places
 * @property {number} width
 * @property {number} height
 * @property {Place[]} places
 * @property {Map<string, string>} keyOf id -> key
 * @property {EdgePlace[]} edges
 *
 * @typedef {{from: string, to: string, path: number[], tip: [number, number] | null, box: [number, number, number, number]}} EdgePlace
 *
 * @typedef {object} SceneNode
 * @property {string} key
 * @property {string} id "" for a group
 * @property {string[]} ids those of them that are there
 * @property {number} x
 * @property {number} y
 * @property {number} w
 * @property {number} h
 * @property {number} round
 * @property {string} label
 * @property {string} sub
 * @property {Family} family
 * @property {Status} status
 * @property {boolean} shown
 * @property {GraphNode | null} node null for a group
 * @property {GraphNode[]} members what is drawn here, of a group all that are there
 *
 * @typedef {EdgePlace & {status: Status, shown: boolean}} SceneEdge
 *
 * @typedef {object} Scene
 * @property {number} width
 * @property {number} height
 * @property {SceneNode[]} nodes
 * @property {SceneEdge[]} edges
 * @property {Map<string, SceneNode>} byKey
 * @property {Map<string, string>} keyOf
 * @property {Map<string, {before: string[], after: string[]}>} neighbours by key, of what is shown
 */

/**
 * Joins the union with its layout.
 * @param {Union} union
 * @param {Layout} layout
 * @returns {Places}
 */
export function placeUnion(union, layout) {
  /** @type {Map<string, {ids: string[], label: string}>} */
  const known = new Map();
  for (const node of union.nodes) known.set(node.key, { ids: [node.id], label: "" });
  for (const group of union.groups)
    known.set(group.key, { ids: group.members, label: group.label });

  /** @type {Place[]} */
  const places = [];
  /** @type {Map<string, string>} */
  const keyOf = new Map();
  for (const { key, x, y, w, h } of layout.nodes) {
    const found = known.get(key);
    if (!found) continue;
    places.push({ key, ...found, x, y, w, h });
    for (const id of found.ids) keyOf.set(id, key);
  }
  const edges = layout.edges.map((edge) => ({ ...edge, box: boxAround(edge.path) }));
  return { width: layout.width, height: layout.height, places, keyOf, edges };
}

/**
 * @param {number[]} path
 * @returns {[number, number, number, number]}
 */
function boxAround(path) {
  /** @type {[number, number, number, number]} */
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i + 1 < path.length; i += 2) {
    box[0] = Math.min(box[0], path[i]);
    box[1] = Math.min(box[1], path[i + 1]);
    box[2] = Math.max(box[2], path[i]);
    box[3] = Math.max(box[3], path[i + 1]);
  }
  return box;
}

/**
 * What is drawn of one pass. `before` is the graph of the stage before, null for the first stage.
 * @param {Places} places
 * @param {StageGraph | null} before
 * @param {StageGraph} after
 * @param {import("../url.js").View} view
 * @param {boolean} changed whether the pass changed anything
 * @returns {Scene}
 */
export function buildScene(places, before, after, view, changed) {
  const pass = changed && before ? { before, after } : { before: null, after };
  const nodes = statesOfNodes(pass, view);
  const sceneNodes = places.places.map((place) => sceneNode(place, nodes));
  const edges = sceneEdges(places, pass, view);
  return {
    width: places.width,
    height: places.height,
    nodes: sceneNodes,
    edges,
    byKey: new Map(sceneNodes.map((node) => [node.key, node])),
    keyOf: places.keyOf,
    neighbours: neighboursOf(edges),
  };
}

/**
 * @typedef {{before: StageGraph | null, after: StageGraph}} Pass
 * @typedef {Map<string, {node: GraphNode, status: Status}>} NodeStates
 */

/**
 * @param {Pass} pass
 * @param {import("../url.js").View} view
 * @returns {NodeStates}
 */
export function statesOfNodes({ before, after }, view) {
  /** @type {NodeStates} */
  const states = new Map();
  const marks = marksOf(after);
  if (before && view !== "after") {
    const removed = new Set(after.removed);
    for (const node of before.nodes) {
      if (removed.has(node.id)) states.set(node.id, { node, status: "removed" });
      else if (view === "before")
        states.set(node.id, {
          node,
          status: marks.get(node.id) === "changed" ? "changed" : "same",
        });
    }
  }
  if (view !== "before" || !before) {
    for (const node of after.nodes) {
      const status = before ? (marks.get(node.id) ?? "same") : "same";
      states.set(node.id, { node, status });
    }
  }
  return states;
}

/**
 * @param {Place} place
 * @param {NodeStates} states
 * @returns {SceneNode}
 */
function sceneNode(place, states) {
  const { key, x, y, w, h } = place;
  const present = place.ids.filter((id) => states.has(id));
  const grouped = place.label !== "";
  const only = grouped ? undefined : states.get(place.ids[0]);
  const terminal = only ? only.node.kind !== "node" : false;
  return {
    key,
    x,
    y,
    w,
    h,
    id: grouped ? "" : place.ids[0],
    ids: present,
    round: terminal ? h / 2 : 6,
    label: only ? labelOf(only.node) : place.label,
    sub: only ? subOf(only.node) : operatorsOf(present, states),
    family: only ? asFamily(only.node.family) : "input",
    status: grouped ? statusOfGroup(present, states) : (only?.status ?? "same"),
    shown: present.length > 0,
    node: only?.node ?? null,
    members: present.flatMap((id) => states.get(id)?.node ?? []),
  };
}

/**
 * @param {string[]} ids
 * @param {NodeStates} states
 * @returns {Status}
 */
function statusOfGroup(ids, states) {
  const found = new Set(ids.map((id) => states.get(id)?.status ?? "same"));
  if (found.size === 0) return "same";
  return found.size === 1 ? [...found][0] : "changed";
}

/**
 * What is in a closed group, the most frequent first.
 * @param {string[]} ids
 * @param {NodeStates} states
 */
function operatorsOf(ids, states) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const id of ids) {
    const node = states.get(id)?.node;
    if (node?.kind === "node") counts.set(node.op, (counts.get(node.op) ?? 0) + 1);
  }
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .map(([op]) => op)
    .join(", ");
}

/** @param {GraphNode} node */
function labelOf(node) {
  if (node.kind !== "node") return node.name;
  if (node.op !== "fusion") return node.op;
  // A fusion says what it runs: the operators of its body, in order.
  const inner = (node.regions.body?.nodes ?? [])
    .filter((each) => each.kind === "node")
    .map((each) => each.op);
  if (inner.length === 0) return node.op;
  return inner.length > 3 ? `${inner[0]} + ${inner.length - 1}` : inner.join(" + ");
}

/** @param {GraphNode} node */
function subOf(node) {
  return shortType(node.types[0] ?? "");
}

/**
 * A type as short as a node needs it: "f32[1,64,55,55]" is "1×64×55×55", other elements are named,
 * of a layout "{c16,halo=1x1}" the blocks.
 * @param {string} type
 * @returns {string}
 */
export function shortType(type) {
  const found = /^(\w+)\[([^\]]*)\](.*)$/.exec(type);
  if (!found) return type;
  const [, elements, dims, rest] = found;
  const shape = dims.split(",").join("×") || "scalar";
  const blocks = /\bc\d+/.exec(rest)?.[0] ?? "";
  return [elements === "f32" ? "" : elements, shape, blocks].filter(Boolean).join(" ");
}

/**
 * @param {Places} places
 * @param {Pass} pass
 * @param {import("../url.js").View} view
 * @returns {SceneEdge[]}
 */
function sceneEdges(places, { before, after }, view) {
  const old = before ? edgeKeys(places, before) : null;
  const now = edgeKeys(places, after);
  return places.edges.map((edge) => {
    const key = `${edge.from} ${edge.to}`;
    const was = old ? old.has(key) : now.has(key);
    const is = now.has(key);
    const shown = view === "before" ? was : view === "after" ? is : was || is;
    return { ...edge, shown, status: was === is ? "same" : is ? "added" : "removed" };
  });
}

/**
 * @param {Places} places
 * @param {StageGraph} graph
 * @returns {Set<string>}
 */
function edgeKeys(places, graph) {
  /** @type {Set<string>} */
  const keys = new Set();
  for (const [from, to] of graph.edges) {
    const a = places.keyOf.get(from);
    const b = places.keyOf.get(to);
    if (a && b && a !== b) keys.add(`${a} ${b}`);
  }
  return keys;
}

/**
 * @param {SceneEdge[]} edges
 * @returns {Scene["neighbours"]}
 */
function neighboursOf(edges) {
  /** @type {Scene["neighbours"]} */
  const neighbours = new Map();
  const of = (/** @type {string} */ key) => {
    let found = neighbours.get(key);
    if (!found) neighbours.set(key, (found = { before: [], after: [] }));
    return found;
  };
  for (const { from, to, shown } of edges) {
    if (!shown) continue;
    of(from).after.push(to);
    of(to).before.push(from);
  }
  return neighbours;
}

/**
 * The box around some nodes, null for none.
 * @param {Scene} scene
 * @param {Iterable<string>} keys
 * @returns {import("./camera.js").Box | null}
 */
export function boxOfKeys(scene, keys) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const key of keys) {
    const node = scene.byKey.get(key);
    if (!node) continue;
    left = Math.min(left, node.x - node.w / 2);
    top = Math.min(top, node.y - node.h / 2);
    right = Math.max(right, node.x + node.w / 2);
    bottom = Math.max(bottom, node.y + node.h / 2);
  }
  return right < left
    ? null
    : { x: (left + right) / 2, y: (top + bottom) / 2, w: right - left, h: bottom - top };
}

/**
 * The drawn node at a point, the last painted first.
 * @param {Scene} scene
 * @param {{x: number, y: number}} point
 * @param {number} slack drawing units around a node that still count
 * @returns {SceneNode | null}
 */
export function nodeAt(scene, point, slack = 0) {
  for (let i = scene.nodes.length - 1; i >= 0; i--) {
    const node = scene.nodes[i];
    if (
      node.shown &&
      Math.abs(point.x - node.x) <= node.w / 2 + slack &&
      Math.abs(point.y - node.y) <= node.h / 2 + slack
    )
      return node;
  }
  return null;
}

/**
 * The node that an arrow key leads to: along the edges up and down, to the nearest one sideways.
 * @param {Scene} scene
 * @param {string} from key, "" for the start
 * @param {"before" | "after" | "left" | "right"} direction
 * @returns {string} key, or `from` where the way ends
 */
export function walk(scene, from, direction) {
  const here = scene.byKey.get(from);
  if (!here || !here.shown)
    return scene.nodes.filter((n) => n.shown).sort((a, b) => a.y - b.y || a.x - b.x)[0]?.key ?? "";
  if (direction === "before" || direction === "after") {
    const next = (scene.neighbours.get(from)?.[direction] ?? [])
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
