// An index of the edges at each node, built once per graph.
import { synchronously } from "../elements/scheduling.js";

/**
 * @typedef {import("../wire.js").StageGraph} StageGraph
 * @typedef {StageGraph["edges"][number]} Edge
 * @typedef {Map<string, Edge[]>} EdgeIndex by id of the nodes at both ends
 */

/** @type {WeakMap<StageGraph["edges"], EdgeIndex>} */
const kept = new WeakMap();

/** Edges indexed per step. */
const EDGES_PER_STEP = 512;

/** @type {Edge[]} */
const NONE = [];

/**
 * Return the edges of a graph that begin or end at a node, in the order of the graph.
 * @param {StageGraph} graph
 * @param {string} id
 * @returns {readonly Edge[]}
 */
export function incidentEdges(graph, id) {
  return synchronously(edgeIndexSteps(graph)).get(id) ?? NONE;
}

/**
 * Build the index in short steps, unless it exists.
 * @param {StageGraph} graph
 * @returns {Generator<void, EdgeIndex>}
 */
export function* edgeIndexSteps({ edges }) {
  const known = kept.get(edges);
  if (known) return known;
  /** @type {EdgeIndex} */
  const index = new Map();
  for (let i = 0; i < edges.length; i++) {
    if (i % EDGES_PER_STEP === EDGES_PER_STEP - 1) yield;
    const edge = edges[i];
    put(index, edge[0], edge);
    if (edge[1] !== edge[0]) put(index, edge[1], edge);
  }
  kept.set(edges, index);
  return index;
}

/** @param {EdgeIndex} index @param {string} id @param {Edge} edge */
function put(index, id, edge) {
  const there = index.get(id);
  if (there) there.push(edge);
  else index.set(id, [edge]);
}
