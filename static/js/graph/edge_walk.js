// Walks the edges of the model: the edges at a node, the next edge, and the text form of an edge.
import { incidentEdges } from "./edge_index.js";
import { pieceKey } from "./nesting.js";
import { piecesBetween } from "./pieces.js";

/**
 * @typedef {import("./scene.js").Pass} Pass
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {{from: string, to: string}} Ends ids of the nodes at both ends
 */

const BETWEEN = "\t";

/** @param {Ends} edge @returns {string} text form of the edge, as in the state and in the URL */
export function edgeText({ from, to }) {
  return `${from}${BETWEEN}${to}`;
}

/** @param {string} text @returns {Ends | null} */
export function edgeOf(text) {
  const [from, to, ...more] = text.split(BETWEEN);
  return from && to && more.length === 0 ? { from, to } : null;
}

/**
 * Return the edges at a node: its operands in order, then its readers.
 * @param {Pass} pass
 * @param {string} id
 * @returns {Ends[]} without duplicates
 */
export function edgesAt({ before, after }, id) {
  const graph = [after, before].find((each) => each?.nodes.some((node) => node.id === id));
  const edges = (graph ? incidentEdges(graph, id) : []).map(([from, to, operand]) => ({ from, to, operand }));
  const reads = edges.filter(({ to }) => to === id).sort((a, b) => a.operand - b.operand);
  const readers = edges.filter(({ from }) => from === id);
  const found = new Map([...reads, ...readers].map(({ from, to }) => [edgeText({ from, to }), { from, to }]));
  return [...found.values()];
}

/**
 * Return the next edge, cyclically.
 * @param {Ends[]} edges
 * @param {string} edge text form of the current edge, "" for none
 * @param {1 | -1} by
 * @returns {{edge: Ends, at: number} | null} `at` counts from 0; null if the node has no edges
 */
export function nextEdge(edges, edge, by) {
  if (edges.length === 0) return null;
  const now = edges.findIndex((each) => edgeText(each) === edge);
  const start = now < 0 && by < 0 ? 0 : now;
  const at = (start + by + edges.length) % edges.length;
  return { edge: edges[at], at };
}

/**
 * Return the segments of a drawn edge; empty if the pass has no such edge.
 * @param {Scene | null} scene
 * @param {string} text text form of the edge
 * @returns {Set<string>} keys of segments
 */
export function piecesOfEdge(scene, text) {
  const edge = edgeOf(text);
  if (!scene || !edge) return new Set();
  const { before, after } = scene.pass;
  const isThere = [after, before].some(
    (graph) => graph && incidentEdges(graph, edge.from).some(([from, to]) => from === edge.from && to === edge.to),
  );
  const pieces = isThere ? piecesBetween(scene.places, edge.from, edge.to) : [];
  return new Set(pieces.map(([from, to]) => pieceKey(from, to)));
}
