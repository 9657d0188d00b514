// Maps edges of the model to the drawn segments through which they pass.
import { incidentEdges } from "./edge_index.js";
import { pieceKey, piecesOf } from "./nesting.js";
import { ownIds } from "./own_ids.js";

/**
 * @typedef {import("../wire.js").StageGraph} StageGraph
 * @typedef {import("./places.js").Place} Place
 * @typedef {import("./places.js").Places} Places
 * @typedef {import("./scene.js").Scene} Scene
 */

/**
 * Cache by places and graph: each graph is drawn as the output of a pass and as the input of the next pass.
 * @type {WeakMap<Places, WeakMap<StageGraph, Set<string>>>}
 */
const piecesKept = new WeakMap();

/** Edges processed per step. */
const EDGES_PER_STEP = 512;

/**
 * Find the drawn segments of all edges of a graph in short steps, and cache them.
 * @param {Places} places
 * @param {StageGraph} graph
 * @returns {Generator<void, Set<string>>}
 */
export function* pieceSteps(places, graph) {
  const kept = piecesKept.get(places) ?? new WeakMap();
  piecesKept.set(places, kept);
  const known = kept.get(graph);
  if (known) return known;
  /** @type {Set<string>} */
  const keys = new Set();
  // Edges share segments: each pair of boxes is processed once.
  /** @type {Map<Place, Set<Place>>} */
  const seen = new Map();
  for (const [i, [source, target]] of graph.edges.entries()) {
    if (i % EDGES_PER_STEP === EDGES_PER_STEP - 1) yield;
    const [a, b] = [places.placeOf.get(source), places.placeOf.get(target)];
    if (!a || !b || a === b) continue;
    const ends = seen.get(a) ?? new Set();
    if (ends.has(b)) continue;
    seen.set(a, ends.add(b));
    for (const [from, to] of piecesOf(a, b)) keys.add(pieceKey(from, to));
  }
  kept.set(graph, keys);
  return keys;
}

/**
 * Return the drawn segments of an edge between two nodes, from box to box.
 * @param {Places} places
 * @param {string} source id
 * @param {string} target id
 */
export function piecesBetween({ placeOf }, source, target) {
  const [a, b] = [placeOf.get(source), placeOf.get(target)];
  return a && b ? piecesOf(a, b) : [];
}

/**
 * Return the drawn segments of the edges that begin or end at some boxes.
 * @param {Scene} scene
 * @param {Set<string>} boxes keys
 * @returns {Set<string>} keys of segments
 */
export function piecesAt({ places, pass, byKey }, boxes) {
  /** @type {Set<string>} */
  const keys = new Set();
  for (const key of boxes)
    for (const id of boxIds(byKey.get(key)))
      for (const graph of [pass.before, pass.after])
        for (const [source, target] of graph ? incidentEdges(graph, id) : [])
          for (const [from, to] of piecesBetween(places, source, target)) keys.add(pieceKey(from, to));
  return keys;
}

/** @param {import("./scene.js").SceneNode | undefined} box */
function boxIds(box) {
  return box ? ownIds(box) : [];
}

/**
 * Return the edges of the model through a drawn segment: in the graph after the pass, or else before the pass.
 * @param {Scene} scene
 * @param {string} piece
 * @returns {{edges: StageGraph["edges"], graph: StageGraph} | null}
 */
export function edgesThrough({ places, pass }, piece) {
  for (const graph of [pass.after, pass.before]) {
    const edges = (graph?.edges ?? []).filter(([source, target]) =>
      piecesBetween(places, source, target).some(([from, to]) => pieceKey(from, to) === piece),
    );
    if (graph && edges.length) return { edges, graph };
  }
  return null;
}
