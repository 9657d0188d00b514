// The regions of a node in the pane Node: the operators of a fusion, or the bodies of control flow, whose
// nodes can be selected.
import { el } from "../elements/dom.js";
import { bodiesOf } from "../results/levels.js";
import { foldOf } from "../state/bindings.js";
import { word } from "../text/words.js";

/**
 * @typedef {import("../wire.js").GraphNode} GraphNode
 */

/** Maximum number of nodes of a region that is shown unfolded at first. */
const UNFOLDED = 14;

/**
 * @param {GraphNode} node
 * @param {import("../wire.js").StageGraph} graph
 * @param {import("../state/page.js").PageState} state
 * @returns {HTMLElement[]}
 */
export function regionsOf(node, graph, state) {
  const fused = Object.entries(node.regions).map(([name, { nodes }]) => fold(name, nodes, lineOf, state));
  const bodies = [...bodiesOf(node, graph)].map(([name, nodes]) => fold(name, nodes, buttonOf, state));
  return [...fused, ...bodies];
}

/**
 * @param {string} name
 * @param {GraphNode[]} nodes
 * @param {(node: GraphNode) => (HTMLElement | string)[]} content
 * @param {import("../state/page.js").PageState} state
 */
function fold(name, nodes, content, state) {
  const operators = nodes.filter(({ kind }) => kind === "node");
  const items = operators.map((each) => el("li", {}, ...content(each)));
  const summary = el("summary", {}, word("node.region", { n: operators.length, name }));
  const list = el("ol", { class: "code value-list" }, ...items);
  return foldOf(el("details", {}, summary, list), state, "region", name, nodes.length <= UNFOLDED);
}

/** @param {GraphNode} node */
function lineOf({ id, types, op, inputs }) {
  return [`${id}: ${types[0]} = ${op}(${inputs.join(", ")})`];
}

/** @param {GraphNode} node */
function buttonOf({ id, outputs, types, op, inputs }) {
  const name = outputs.find(Boolean) ?? id;
  const button = el("button", { class: "link-button mono", type: "button" }, name);
  button.dataset.node = id;
  return [button, `: ${types[0]} = ${op}(${inputs.join(", ")})`];
}
