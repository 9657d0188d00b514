// From the union's layout and the graphs of two stages to what is drawn: every node keeps the one
// place it has in the union, and says whether it is there, and what the pass did to it.
import { marksOf } from "../snapshots.js";
import { atOnce } from "../turns.js";
import { asFamily } from "./families.js";
import { createGrid } from "./grid.js";
import { nest } from "./nesting.js";
import { pieceKeys } from "./pieces.js";

/**
 * @typedef {import("../wire.js").StageGraph} StageGraph
 * @typedef {import("../wire.js").GraphNode} GraphNode
 * @typedef {import("../wire.js").Union} Union
 * @typedef {import("./dot_layout.js").Layout} Layout
 * @typedef {import("./families.js").Family} Family
 * @typedef {"same" | "added" | "removed" | "changed"} Status
 *
 * @typedef {"node" | "scope" | "repeat" | "block" | "stretch"} Kind
 *
 * @typedef {object} Place
 * @property {string} key
 * @property {string[]} around keys of the open groups that it lies in, outermost first
 * @property {string[]} ids what is drawn here: one node, or all nodes in a group
 * @property {string} label "" for a node: it has its own
 * @property {number} times how many equal blocks are in a group, 1 for none
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
 * @property {Place[]} frames open groups, each before those in it
 * @property {Map<string, Place>} placeOf id -> the place that it is drawn in
 * @property {Map<string, string>} keyOf id -> the key of that place
 * @property {EdgePlace[]} edges
 * @property {Map<string, number>} edgeAt the place of a piece among the edges, by key
 * @property {Finder} nodesIn what of the places overlaps some bounds
 * @property {Finder} edgesIn
 *
 * @typedef {(bounds: import("./grid.js").Bounds) => number[]} Finder gives indices
 *
 * @typedef {object} EdgePlace a piece of edges of the model, from box to box or to the border of a group
 * @property {string} key
 * @property {string} from
 * @property {string} to
 * @property {boolean} ends whether edges end here, and do not go on into or out of a group
 * @property {number[]} path x and y of a start and then of three points per Bézier piece
 * @property {import("./grid.js").Bounds} box
 *
 * @typedef {object} SceneNode
 * @property {string} key
 * @property {string} id "" for a group
 * @property {string[]} around
 * @property {string[]} ids those of them that are there
 * @property {number} x
 * @property {number} y
 * @property {number} w
 * @property {number} h
 * @property {number} round
 * @property {string} label
 * @property {string} sub
 * @property {number} times
 * @property {Kind} kind
 * @property {boolean} open
 * @property {Family} family
 * @property {Status} status
 * @property {Record<"added" | "removed" | "changed", number>} marks how many nodes in it are marked
 * @property {boolean} shown
 * @property {GraphNode | null} node null for a group
 *
 * @typedef {EdgePlace & {status: Status, shown: boolean}} SceneEdge
 *
 * @typedef {object} Scene
 * @property {number} width
 * @property {number} height
 * @property {SceneNode[]} nodes nodes and closed groups, in the order of the places
 * @property {SceneNode[]} frames open groups, each before those in it
 * @property {SceneEdge[]} edges in the order of the places
 * @property {Map<string, SceneNode>} byKey nodes, closed and open groups
 * @property {Map<string, string>} keyOf id -> key of the box that it is drawn in
 * @property {() => Neighbours} neighbours of what is shown, made when they are first needed
 * @property {NodeStates} states of the nodes that are there, by id
 * @property {Pass} pass what it shows
 * @property {Places} places
 *
 * @typedef {Map<string, {before: string[], after: string[]}>} Neighbours by key
 */

/** So many nodes of the union are put in their places in a step. */
const NODES_PER_STEP = 512;

/**
 * Joins the union with the layouts of what is open of it.
 * @param {Union} union
 * @param {Set<string>} open
 * @param {Map<string, Layout>} layouts
 * @returns {Places}
 */
export function placeUnion(union, open, layouts) {
  return atOnce(placeSteps(union, open, layouts));
}

/**
 * The same, in steps that are each short.
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
  const edgeAt = new Map(edges.map(({ key }, i) => [key, i]));
  yield;
  const nodesIn = createGrid(boxes.map(({ x, y, w, h }) => [x - w / 2, y - h / 2, x + w / 2, y + h / 2]));
  yield;
  const edgesIn = createGrid(edges.map(({ box }) => box));
  return { width, height, places: boxes, frames, placeOf, keyOf, edges, edgeAt, nodesIn, edgesIn };
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
  const states = statesOfNodes(pass, view);
  const nodes = places.places.map((place) => sceneNode(place, states, false));
  const frames = places.frames.map((place) => sceneNode(place, states, true));
  const shown = view === "before" && pass.before ? [pass.before] : [pass.after];
  if (view === "diff" && pass.before) shown.push(pass.before);
  /** @type {Neighbours | null} */
  let neighbours = null;
  return {
    width: places.width,
    height: places.height,
    nodes,
    frames,
    edges: sceneEdges(places, pass, view),
    byKey: new Map([...nodes, ...frames].map((node) => [node.key, node])),
    keyOf: places.keyOf,
    neighbours: () => (neighbours ??= neighboursOf(places, shown)),
    states,
    pass,
    places,
  };
}

/**
 * @typedef {{before: StageGraph | null, after: StageGraph}} Pass
 * @typedef {{node: GraphNode, status: Status}} NodeState
 * @typedef {Map<string, NodeState>} NodeStates by id
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
 * @param {boolean} open
 * @returns {SceneNode}
 */
function sceneNode(place, states, open) {
  const { key, around, times, kind, x, y, w, h } = place;
  const present = place.ids.filter((id) => states.has(id));
  const only = kind === "node" ? states.get(place.ids[0]) : undefined;
  const terminal = only ? only.node.kind !== "node" : false;
  const marks = countMarks(present, states);
  return {
    key,
    around,
    times,
    kind,
    open,
    x,
    y,
    w,
    h,
    id: kind === "node" ? place.ids[0] : "",
    ids: present,
    round: terminal ? h / 2 : 6,
    label: only ? labelOf(only.node) : times > 1 ? `${place.label} ×${times}` : place.label,
    sub: only ? subOf(only.node) : `${present.length} nodes: ${operatorsOf(present, states)}`,
    family: only ? asFamily(only.node.family) : "input",
    status: only ? only.status : statusOfGroup(marks, present.length),
    marks,
    shown: present.length > 0,
    node: only?.node ?? null,
  };
}

/**
 * @param {string[]} ids
 * @param {NodeStates} states
 */
function countMarks(ids, states) {
  const marks = { added: 0, removed: 0, changed: 0 };
  for (const id of ids) {
    const status = states.get(id)?.status ?? "same";
    if (status !== "same") marks[status] += 1;
  }
  return marks;
}

/**
 * @param {SceneNode["marks"]} marks
 * @param {number} n
 * @returns {Status}
 */
function statusOfGroup({ added, removed, changed }, n) {
  if (added + removed + changed === 0) return "same";
  return added === n ? "added" : removed === n ? "removed" : "changed";
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
  const now = pieceKeys(places, after);
  const old = before ? pieceKeys(places, before) : now;
  return places.edges.map((edge) => {
    const [was, is] = [old.has(edge.key), now.has(edge.key)];
    const shown = view === "before" ? was : view === "after" ? is : was || is;
    return { ...edge, shown, status: was === is ? "same" : is ? "added" : "removed" };
  });
}

/**
 * @param {Places} places
 * @param {StageGraph[]} graphs that are shown
 * @returns {Neighbours}
 */
function neighboursOf({ placeOf }, graphs) {
  /** @type {Map<string, {before: Set<string>, after: Set<string>}>} */
  const found = new Map();
  const of = (/** @type {string} */ key) => {
    let own = found.get(key);
    if (!own) found.set(key, (own = { before: new Set(), after: new Set() }));
    return own;
  };
  for (const { edges } of graphs)
    for (const [source, target] of edges) {
      const [from, to] = [placeOf.get(source)?.key, placeOf.get(target)?.key];
      if (from === undefined || to === undefined || from === to) continue;
      of(from).after.add(to);
      of(to).before.add(from);
    }
  const sorted = [...found].map(([key, { before, after }]) => [key, { before: [...before], after: [...after] }]);
  return new Map(/** @type {[string, {before: string[], after: string[]}][]} */ (sorted));
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
 * The node that an arrow key leads to: along the edges up and down, to the nearest one sideways.
 * @param {Scene} scene
 * @param {string} from key, "" for the start
 * @param {"before" | "after" | "left" | "right"} direction
 * @returns {string} key, or `from` where the way ends
 */
export function walk(scene, from, direction) {
  const here = scene.byKey.get(from);
  if (!here || !here.shown || here.open) {
    const inside = scene.nodes.filter((n) => n.shown && (!here?.open || n.around.includes(from)));
    return inside.sort((a, b) => a.y - b.y || a.x - b.x)[0]?.key ?? "";
  }
  if (direction === "before" || direction === "after") {
    const next = (scene.neighbours().get(from)?.[direction] ?? [])
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
