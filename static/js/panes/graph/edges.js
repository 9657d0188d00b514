// Keyboard access to edges: step through edges, follow an edge to its end, show its fusion verdict.
import { edgeOf, edgeText, edgesAt, nextEdge } from "../../graph/edge_walk.js";
import { edgesThrough } from "../../graph/pieces.js";
import { graphWithEdge, verdictsOn } from "../../results/neighbours.js";
import { selectNode } from "../../state/selection.js";
import { word } from "../../text/words.js";
import { verdictWord } from "../passes/verdicts.js";

/**
 * @typedef {import("../../graph/scene.js").Scene} Scene
 * @typedef {import("../../wire.js").GraphNode} GraphNode
 */

/**
 * @param {import("../../state/page.js").PageState} state
 * @param {() => Scene | null} scene
 * @param {{show: (keys: string[]) => void, announce: (text: string) => void}} hooks
 */
export function createEdges(state, scene, { show, announce }) {
  /** @param {string} id */
  function nodeOf(id) {
    const { graph, before } = state.get();
    return [...(graph?.nodes ?? []), ...(before?.nodes ?? [])].find((node) => node.id === id);
  }

  /** @param {1 | -1} by */
  function step(by) {
    const drawn = scene();
    const { at, edge: last } = state.get();
    const edges = drawn && at ? edgesAt(drawn.pass, at) : [];
    const next = nextEdge(edges, last, by);
    if (!drawn || !next) return announce(word("edge.none"));
    const { edge } = next;
    state.set({ edge: edgeText(edge) });
    show([edge.from, edge.to].flatMap((id) => drawn.keyOf.get(id) ?? []));
    const said = word("edge.says", { at: next.at + 1, of: edges.length, ...edge });
    announce([said, ...verdicts(at, edge)].join(": "));
  }

  /** Return the compiler's decisions about an edge of a node, in a few words per decision. */
  function verdicts(/** @type {string} */ at, /** @type {import("../../graph/edge_walk.js").Ends} */ edge) {
    const { graph, before, neighbours } = state.get();
    const of = graphWithEdge([graph, before], edge);
    const node = of?.nodes.find(({ id }) => id === at);
    if (!node || !of) return [];
    return verdictsOn(node, of, neighbours)
      .filter(({ other, side }) => other.id === (side === "reads" ? edge.from : edge.to))
      .flatMap(({ other, answers }) => answers.slice(0, 1).map((answer) => verdictWord(answer, node, other)));
  }

  /**
   * Select an end of an edge and show its fusion verdict.
   * @param {import("../../graph/edge_walk.js").Ends} edge
   * @param {string} [at] the end to select, by default the target
   */
  function pin(edge, at = edge.to) {
    const ends = [at, edge.to, edge.from].flatMap((id) => nodeOf(id) ?? []);
    const chosen = ends.find(({ kind }) => kind === "node") ?? ends[0];
    if (chosen) state.set({ ...selectNode(chosen), edge: edgeText(edge), pane: "node" });
  }

  return {
    next: () => step(1),
    previous: () => step(-1),
    /** Choose the first of the edges drawn as one segment. */
    choose(/** @type {import("../../graph/scene.js").SceneEdge} */ { key }) {
      const drawn = scene();
      const found = drawn && edgesThrough(drawn, key);
      if (found) pin({ from: found.edges[0][0], to: found.edges[0][1] });
    },
    /** @returns {boolean} whether there was a chosen edge */
    pinChosen() {
      const edge = edgeOf(state.get().edge);
      const { at } = state.get();
      if (edge) pin(edge, at === edge.from ? at : edge.to);
      return edge !== null;
    },
    /**
     * Return the target of an arrow key along the chosen edge: the key of a box, "" for none.
     * @param {"before" | "after" | "left" | "right"} direction
     */
    along(direction) {
      const edge = edgeOf(state.get().edge);
      const end = direction === "after" ? edge?.to : direction === "before" ? edge?.from : undefined;
      return end && end !== state.get().at ? (scene()?.keyOf.get(end) ?? "") : "";
    },
  };
}
