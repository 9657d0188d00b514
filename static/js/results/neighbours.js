// Fusion verdicts: the ledger's decision for each edge of the model, mapped to edges at any stage.

/**
 * @typedef {import("../wire.js").GraphNode} GraphNode
 * @typedef {import("../wire.js").Neighbour} Neighbour
 * @typedef {import("../wire.js").Neighbours} Neighbours
 *
 * @typedef {object} Verdict
 * @property {GraphNode} other the node at the other end
 * @property {"reads" | "read by"} side
 * @property {Neighbour[]} answers verdicts of the edges of the model behind this edge
 */

/**
 * Return the verdicts on all edges of a node. Edges inside a fused node have no verdict.
 * @param {GraphNode} node
 * @param {import("../wire.js").StageGraph} graph that contains the node
 * @param {Neighbours | null} neighbours
 * @returns {Verdict[]}
 */
export function verdictsOn(node, graph, neighbours) {
  if (!neighbours) return [];
  const byId = new Map(graph.nodes.map((each) => [each.id, each]));
  /** @type {Verdict[]} */
  const found = [];
  const seen = new Set();
  for (const [from, to] of graph.edges) {
    if (from !== node.id && to !== node.id) continue;
    const other = byId.get(from === node.id ? to : from);
    const side = from === node.id ? "read by" : "reads";
    if (!other || other.kind !== "node" || seen.has(`${side} ${other.id}`)) continue;
    seen.add(`${side} ${other.id}`);
    const [makers, readers] = side === "reads" ? [other, node] : [node, other];
    const answers = answersBetween(makers, readers, neighbours);
    if (answers.length) found.push({ other, side, answers });
  }
  return found;
}

/**
 * Return the first graph with an edge: a pass may have removed it, and its ends may remain.
 * @template {Pick<import("../wire.js").StageGraph, "edges">} G
 * @param {(G | null)[]} graphs
 * @param {{from: string, to: string} | null} edge
 * @returns {G | null}
 */
export function graphWithEdge(graphs, edge) {
  if (!edge) return null;
  const found = graphs.find((each) => each?.edges.some(([from, to]) => from === edge.from && to === edge.to));
  return found ?? null;
}

/**
 * @param {GraphNode} maker
 * @param {GraphNode} reader
 * @param {Neighbours} neighbours
 * @returns {Neighbour[]}
 */
function answersBetween(maker, reader, { edges }) {
  const [a, b] = [new Set(maker.origins), new Set(reader.origins)];
  return edges.filter(({ maker: m, reader: r }) => a.has(m) && b.has(r) && !(a.has(r) && b.has(m)));
}
