// Builds the scene from the places of the union and the graphs of two stages: every node of the union
// with its position, its presence at the stage, and its change by the pass.
import { marksOf } from "../results/snapshots.js";
import { synchronously } from "../elements/scheduling.js";
import { edgeIndexSteps } from "./edge_index.js";
import { asFamily } from "../elements/families.js";
import { labelOf, operatorsOf, subOf } from "./labels.js";
import { pieceSteps } from "./pieces.js";

/**
 * @typedef {import("../wire.js").StageGraph} StageGraph
 * @typedef {import("../wire.js").GraphNode} GraphNode
 * @typedef {import("../elements/families.js").Family} Family
 * @typedef {import("./places.js").Place} Place
 * @typedef {import("./places.js").Places} Places
 * @typedef {"same" | "added" | "removed" | "changed" | "refined"} Status
 *
 * @typedef {object} SceneNode
 * @property {string} key
 * @property {string} id "" for a group, unless its nodes are the bodies of a node
 * @property {string[]} around
 * @property {string[]} ids ids of the contained nodes that exist at this pass
 * @property {number} x
 * @property {number} y
 * @property {number} w
 * @property {number} h
 * @property {number} round
 * @property {string} label
 * @property {string} sub
 * @property {number} times
 * @property {import("./places.js").Kind} kind
 * @property {boolean} open
 * @property {Family} family
 * @property {Status} status
 * @property {Record<Exclude<Status, "same">, number>} marks numbers of marked nodes inside
 * @property {boolean} shown
 * @property {GraphNode | null} node null for a group, unless its nodes are the bodies of a node
 * @property {boolean} hasBodies whether the box is a control-flow node, which opens like a group
 *
 * @typedef {import("./places.js").EdgePlace & {status: Status, shown: boolean}} SceneEdge
 *
 * @typedef {object} Scene
 * @property {number} width
 * @property {number} height
 * @property {SceneNode[]} nodes nodes and closed groups, in the order of the places
 * @property {SceneNode[]} frames open groups, outer before inner
 * @property {SceneEdge[]} edges in the order of the places
 * @property {Map<string, SceneNode>} byKey nodes and groups, closed or open
 * @property {Map<string, string>} keyOf id -> key of its box
 * @property {NodeStates} states of the present nodes, by id
 * @property {Pass} pass the pass shown
 * @property {StageGraph[]} shown the graphs of the pass that are shown
 * @property {Places} places
 *
 * @typedef {{before: StageGraph | null, after: StageGraph}} Pass
 * @typedef {{node: GraphNode, status: Status}} NodeState
 * @typedef {Map<string, NodeState>} NodeStates by id
 */

/** Nodes or edges processed per step. */
const PER_STEP = 512;

/**
 * Build the scene of a pass. `before` is the graph of the previous stage, null for the first stage.
 * @param {Places} places
 * @param {StageGraph | null} before
 * @param {StageGraph} after
 * @param {import("../state/url.js").View} view
 * @param {boolean} changed whether the pass changed anything
 * @returns {Scene}
 */
export function buildScene(places, before, after, view, changed) {
  return synchronously(sceneSteps(places, before, after, view, changed));
}

/**
 * Build the scene of a pass in short steps.
 * @param {Places} places
 * @param {StageGraph | null} before
 * @param {StageGraph} after
 * @param {import("../state/url.js").View} view
 * @param {boolean} changed
 * @returns {Generator<void, Scene>}
 */
export function* sceneSteps(places, before, after, view, changed) {
  const pass = changed && before ? { before, after } : { before: null, after };
  const states = yield* stateSteps(pass, view);
  const nodes = yield* nodeSteps(places.places, states, false);
  const frames = yield* nodeSteps(places.frames, states, true);
  const edges = yield* edgeSteps(places, pass, view);
  for (const graph of [pass.before, pass.after]) if (graph) yield* edgeIndexSteps(graph);
  const shown = view === "before" && pass.before ? [pass.before] : [pass.after];
  if (view === "diff" && pass.before) shown.push(pass.before);
  return {
    width: places.width,
    height: places.height,
    nodes,
    frames,
    edges,
    byKey: new Map([...nodes, ...frames].map((node) => [node.key, node])),
    keyOf: places.keyOf,
    states,
    pass,
    shown,
    places,
  };
}

/**
 * @param {Pass} pass
 * @param {import("../state/url.js").View} view
 * @returns {NodeStates}
 */
export function statesOfNodes(pass, view) {
  return synchronously(stateSteps(pass, view));
}

/**
 * @param {Pass} pass
 * @param {import("../state/url.js").View} view
 * @returns {Generator<void, NodeStates>}
 */
function* stateSteps({ before, after }, view) {
  /** @type {NodeStates} */
  const states = new Map();
  const marks = marksOf(after);
  if (before && view !== "after") {
    const removed = new Set(after.removed);
    for (const [i, node] of before.nodes.entries()) {
      if (i % PER_STEP === PER_STEP - 1) yield;
      if (removed.has(node.id)) states.set(node.id, { node, status: "removed" });
      else if (view === "before")
        states.set(node.id, { node, status: statusBefore(marks.get(node.id)) });
    }
  }
  if (view === "before" && before) return states;
  for (const [i, node] of after.nodes.entries()) {
    if (i % PER_STEP === PER_STEP - 1) yield;
    states.set(node.id, { node, status: before ? (marks.get(node.id) ?? "same") : "same" });
  }
  return states;
}

/**
 * @param {Place[]} places
 * @param {NodeStates} states
 * @param {boolean} open
 * @returns {Generator<void, SceneNode[]>}
 */
function* nodeSteps(places, states, open) {
  /** @type {SceneNode[]} */
  const nodes = [];
  let looked = 0;
  for (const place of places) {
    nodes.push(sceneNode(place, states, open));
    looked += 1 + place.ids.length;
    if (looked < PER_STEP) continue;
    looked = 0;
    yield;
  }
  return nodes;
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
  const only = states.get(place.node);
  const terminal = only ? only.node.kind !== "node" : false;
  const marks = countMarks(present, states);
  // Changes inside a body say more about its node than refined types of the node.
  const own = only && only.status !== "refined" ? only.status : "same";
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
    id: place.node,
    ids: present,
    round: terminal ? h / 2 : 6,
    label: only ? labelOf(only.node) : times > 1 ? `${place.label} ×${times}` : place.label,
    sub: only ? subOf(only.node) : `${present.length} nodes: ${operatorsOf(present, states)}`,
    family: only ? asFamily(only.node.family) : "input",
    status: own === "same" ? statusOfGroup(marks, present.length) : own,
    marks,
    hasBodies: only !== undefined && present.length > 1,
    shown: present.length > 0,
    node: only?.node ?? null,
  };
}

/**
 * @param {string[]} ids
 * @param {NodeStates} states
 */
function countMarks(ids, states) {
  const marks = { added: 0, removed: 0, changed: 0, refined: 0 };
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
function statusOfGroup({ added, removed, changed, refined }, n) {
  if (added + removed + changed === 0) return refined === 0 ? "same" : "refined";
  return added === n ? "added" : removed === n ? "removed" : "changed";
}

/**
 * Return how many nodes of the scene have a mark, also inside closed groups.
 * @param {Scene} scene
 * @param {Exclude<Status, "same">} mark
 */
export function countMarked({ nodes }, mark) {
  return nodes.reduce((sum, node) => sum + (node.shown ? node.marks[mark] : 0), 0);
}

/** @param {Status | undefined} status after the pass; a node that is added later is not present yet */
function statusBefore(status) {
  return status === "changed" || status === "refined" ? status : "same";
}

/**
 * @param {Places} places
 * @param {Pass} pass
 * @param {import("../state/url.js").View} view
 * @returns {Generator<void, SceneEdge[]>}
 */
function* edgeSteps(places, { before, after }, view) {
  const now = yield* pieceSteps(places, after);
  const old = before ? yield* pieceSteps(places, before) : now;
  /** @type {SceneEdge[]} */
  const edges = [];
  for (const edge of places.edges) {
    if (edges.length % PER_STEP === PER_STEP - 1) yield;
    const [was, is] = [old.has(edge.key), now.has(edge.key)];
    const shown = view === "before" ? was : view === "after" ? is : was || is;
    edges.push({ ...edge, shown, status: was === is ? "same" : is ? "added" : "removed" });
  }
  return edges;
}
