// Edges of the model and the pieces in which they are drawn: which pass which.
import { incidentEdges } from "./edge_index.js";
import { pieceKey, piecesOf } from "./nesting.js";

/**
 * @typedef {import("../wire.js").StageGraph} StageGraph
 * @typedef {import("./places.js").Place} Place
 * @typedef {import("./places.js").Places} Places
 * @typedef {import("./scene.js").Scene} Scene
 */

/**
 * Of each graph in some places: a graph is drawn as what a pass made and as what the next one took.
 * @type {WeakMap<Places, WeakMap<StageGraph, Set<string>>>}
 */
const piecesKept = new WeakMap();

/** So many edges are looked at in a step. */
const EDGES_PER_STEP = 512;

/**
 * The pieces of all edges of a graph that are drawn, in steps that are each short; what was found is kept.
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
  // Pieces are shared: the edges between two boxes are looked at once.
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
 * The pieces in which an edge between two nodes is drawn, from box to box.
 * @param {Places} places
 * @param {string} source id
 * @param {string} target id
 */
export function piecesBetween({ placeOf }, source, target) {
  const [a, b] = [placeOf.get(source), placeOf.get(target)];
  return a && b ? piecesOf(a, b) : [];
}

/**
 * The pieces in which the edges to and from some boxes are drawn.
 * @param {Scene} scene
 * @param {Set<string>} boxes keys
 * @returns {Set<string>} keys of pieces
 */
export function piecesAt({ places, pass, byKey }, boxes) {
  /** @type {Set<string>} */
  const keys = new Set();
  for (const key of boxes)
    for (const id of byKey.get(key)?.ids ?? [])
      for (const graph of [pass.before, pass.after])
        for (const [source, target] of graph ? incidentEdges(graph, id) : [])
          for (const [from, to] of piecesBetween(places, source, target)) keys.add(pieceKey(from, to));
  return keys;
}

/**
 * The edges of the model that pass a drawn piece: of the graph after the pass, else of that before.
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
