// The pane Node: definition and origin of the selected node, with its kernels and buffers.
import { breakNames } from "../elements/breaks.js";
import { bringIntoView, clone, closest, el, listen, part } from "../elements/dom.js";
import { formatBytes } from "../text/format.js";
import { nameOf, valueOf } from "../graph/labels.js";
import { asFamily } from "../elements/families.js";
import { paragraphs, prose } from "../elements/prose.js";
import { fallbackNodes } from "../results/running.js";
import { selectKernel, selectNode, selectedIds } from "../state/selection.js";
import { differs, marksOf } from "../results/snapshots.js";
import { ownGraphs, stageTitle } from "../results/stages.js";
import { together } from "../state/state.js";
import { word } from "../text/words.js";
import { incidentEdges } from "../graph/edge_index.js";
import { operandsOf } from "../results/levels.js";
import { regionsOf } from "./node_bodies.js";
import { madeOf } from "./passes/made_of.js";
import { verdictsSection } from "./passes/verdicts.js";

/**
 * @typedef {import("../state/page.js").Page} Page
 * @typedef {import("../wire.js").GraphNode} GraphNode
 * @typedef {import("../wire.js").StageGraph} StageGraph
 */

/** The same page size as in the pane of steps, to share cached answers. */
const STEPS_ASKED = 5000;

/**
 * @param {HTMLElement} root
 * @param {import("../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountNode(root, state) {
  root.replaceChildren(clone("pane-node"));
  const body = part(root, "body");

  function show(/** @type {Page} */ page) {
    const nodes = selectedNodes(page);
    if (nodes.length === 0 && page.selection.length === 0)
      return body.replaceChildren(el("p", { class: "pane-empty" }, word("node.nothing")));
    const focus = nodes.find(({ node }) => node.id === page.at) ?? nodes[0];
    body.replaceChildren(
      ...(focus ? [sectionOf(focus.node, focus.graph, state)] : [el("p", {}, word("node.absent"))]),
      ...(nodes.length > 1 ? [others(nodes.filter((each) => each !== focus))] : []),
      ...(focus ? verdictsSection(focus.node, focus.graph, state) : []),
      ...journey(page),
      ...madeOf(page),
    );
    breakNames(body);
    const current = page.edge ? body.querySelector("[aria-current]") : null;
    if (current) bringIntoView(current);
  }

  return together(
    listen(root, {
      click: (event) => {
        const { graph, before, result } = state.get();
        const data = closest(event, "button")?.dataset;
        if (!data) return;
        if (data.ledgerAt !== undefined) void goToStep(state, data);
        else if (data.stage !== undefined)
          state.set({ stage: Number(data.stage), ...(data.node ? { at: data.node } : {}) });
        else if (data.node !== undefined) {
          const node = [...(graph?.nodes ?? []), ...(before?.nodes ?? [])].find(
            (each) => each.id === data.node,
          );
          if (node) state.set(selectNode(node));
        } else if (data.kernel !== undefined) {
          const kernel = result?.kernels.find((each) => each.kernel === Number(data.kernel));
          if (kernel) state.set({ ...selectKernel(kernel), pane: data.pane ?? "kernels" });
        } else if (data.pane !== undefined) state.set({ pane: data.pane });
        else if (data.origin !== undefined)
          state.set({ selection: [data.origin], at: "", kernel: -1, line: "", edge: "" });
      },
    }),
    state.watch(
      ["graph", "before", "selection", "at", "edge", "provenance", "result", "operators", "stage", "neighbours"],
      show,
    ),
  );
}

/**
 * Open the step of a verdict.
 * @param {import("../state/page.js").PageState} state
 * @param {DOMStringMap} data
 */
async function goToStep(state, { stage, rule, ledgerAt, outcome }) {
  const { parts } = state.get();
  const found = await parts?.steps(Number(stage), 0, STEPS_ASKED);
  const index = (found?.steps ?? []).findIndex(
    (each) => each.rule === rule && each.at === ledgerAt && each.outcome === outcome,
  );
  state.set({ stage: Number(stage), pane: "steps", step: index < 0 ? "" : `${stage}:${index}` });
}

/**
 * @param {Page} page
 * @returns {{node: GraphNode, graph: StageGraph}[]} nodes of the graph after the pass, then removed nodes
 */
function selectedNodes(page) {
  const { graph, before } = page;
  if (!graph) return [];
  const removed = new Set(graph.removed);
  const gone = (before?.nodes ?? []).filter((node) => removed.has(node.id));
  const ids = selectedIds([...graph.nodes, ...gone], page);
  return [
    ...graph.nodes.filter((node) => ids.has(node.id)).map((node) => ({ node, graph })),
    ...gone
      .filter((node) => ids.has(node.id))
      .map((node) => ({ node, graph: /** @type {StageGraph} */ (before) })),
  ];
}

/**
 * @param {GraphNode} node
 * @param {StageGraph} graph
 * @param {import("../state/page.js").PageState} state
 */
function sectionOf(node, graph, state) {
  const page = state.get();
  const swatch = el("span", { class: "node-family", "aria-hidden": "true" });
  swatch.style.setProperty("--family", `var(--family-${asFamily(node.family)})`);
  const operator = page.operators.get(node.op);
  const mark = markOf(node, graph, page);
  const because = fallbackNodes(page.result?.kernels ?? []).get(node.id);
  return el(
    "section",
    { class: "section" },
    el(
      "div",
      { class: "node-title" },
      swatch,
      el("h2", { class: "wrap" }, node.op),
      mark ? el("span", { class: "badge", "data-kind": mark }, word(`mark.${mark}`)) : null,
    ),
    operator ? prose(paragraphs(operator.words)[0] ?? "", "muted") : null,
    because ? el("p", { class: "node-fallback" }, word("tip.fallback", { because })) : null,
    el(
      "dl",
      { class: "facts" },
      ...fact("node.value", el("code", {}, valueOf(node))),
      ...(node.inside ? fact("node.inside-body", insideOf(node.inside, graph)) : []),
      ...(node.name && node.name !== valueOf(node) ? fact("node.name", node.name) : []),
      ...fact("node.type", el("code", {}, node.types.join(", ") || "–")),
      ...Object.entries(node.attrs).flatMap(([name, text]) => [
        el("dt", {}, el("code", {}, name)), // a name of ONNX is not a term of the glossary
        el("dd", {}, el("code", {}, text)),
      ]),
      ...(node.inputs.length ? fact("node.inputs", inputs(node, graph)) : []),
      ...fact("node.readers", readers(node, graph)),
      ...(node.origins.length
        ? fact(
            "node.origins",
            el("span", { class: "journey-nodes" }, ...node.origins.map(originButton)),
          )
        : []),
    ),
    ...regionsOf(node, graph, state),
  );
}

/**
 * Return the mark of a node by the shown pass; a pass without changes keeps the graph of an earlier pass.
 * @param {GraphNode} node
 * @param {StageGraph} graph the graph of the node
 * @param {Page} page
 */
function markOf(node, graph, { graph: shown, result, stage, base }) {
  if (shown && graph !== shown) return "removed";
  return differs(result?.stages ?? [], stage, base) ? marksOf(graph).get(node.id) : undefined;
}

/**
 * @param {string} key
 * @param {Node | string} content
 */
function fact(key, content) {
  return [el("dt", {}, word(key)), el("dd", {}, content)];
}

/** @param {string} origin */
function originButton(origin) {
  return el(
    "button",
    { class: "link-button", type: "button", "data-origin": origin, title: word("node.only-this") },
    origin,
  );
}

/** @param {string} id @param {string} [text] */
function nodeButton(id, text = id) {
  return el("button", { class: "link-button mono", type: "button", "data-node": id }, text);
}

/**
 * @param {GraphNode} node
 * @param {StageGraph} graph
 */
function inputs(node, graph) {
  return el(
    "ul",
    { class: "value-list" },
    ...operandsOf(node, graph, incidentEdges(graph, node.id)).map(({ name, maker, constant }) => {
      if (name === "") return el("li", { class: "muted" }, word("node.left-out"));
      const type = maker?.types[maker.outputs.indexOf(name)] ?? constant?.type ?? "";
      return el(
        "li",
        {},
        maker ? nodeButton(maker.id, name) : el("code", {}, name),
        el("code", { class: "muted" }, type),
        constant
          ? el(
              "span",
              { class: "muted" },
              word("node.constant", {
                storage: constant.storage,
                size: formatBytes(constant.bytes),
              }),
            )
          : null,
      );
    }),
  );
}

/**
 * @param {import("../wire.js").Inside} inside
 * @param {StageGraph} graph
 */
function insideOf([id, region], graph) {
  const around = graph.nodes.find((each) => each.id === id);
  return el("span", {}, `${region} `, nodeButton(id, around && nameOf(around)));
}

/**
 * @param {GraphNode} node
 * @param {StageGraph} graph
 */
function readers(node, graph) {
  const ids = new Set(graph.edges.filter(([from]) => from === node.id).map(([, to]) => to));
  const found = graph.nodes.filter((each) => ids.has(each.id));
  return found.length
    ? el("span", { class: "journey-nodes" }, ...found.map((each) => nodeButton(each.id, valueOf(each))))
    : el("span", { class: "muted" }, word("node.no-readers"));
}

/** @param {{node: GraphNode}[]} nodes */
function others(nodes) {
  return el(
    "section",
    { class: "section" },
    el("h3", {}, word("node.others", { n: nodes.length })),
    el(
      "div",
      { class: "journey-nodes" },
      ...nodes.slice(0, 60).map(({ node }) => nodeButton(node.id, valueOf(node))),
      nodes.length > 60 ? word("n-more", { n: nodes.length - 60 }) : null,
    ),
  );
}

/**
 * Return the selected ONNX nodes at each stage that has its own graph.
 * @param {Page} page
 * @returns {HTMLElement[]}
 */
function journey({ result, provenance, selection, stage }) {
  if (!result || !provenance || selection.length === 0) return [];
  const origins = new Set(selection);
  const followed = provenance.onnx.filter((each) => origins.has(each.name));
  const here = result.stages[stage]?.graph_stage;
  let last = "";
  const rows = ownGraphs(result.stages).map((each) => {
    const ids = [...new Set(followed.flatMap((one) => one.nodes[String(each.stage)] ?? []))];
    const text = ids.join(" ");
    const changed = text !== last;
    last = text;
    return el(
      "li",
      { "data-changed": changed, "data-gone": ids.length === 0, "data-here": each.stage === here },
      el("span", { class: "journey-dot", "aria-hidden": "true" }),
      el(
        "div",
        {},
        el(
          "button",
          { class: "link-button", type: "button", "data-stage": String(each.stage) },
          stageTitle(each),
        ),
        changed
          ? el(
              "div",
              { class: "journey-nodes" },
              ...(ids.length
                ? ids.slice(0, 8).map((id) => stageNode(each.stage, id))
                : [el("span", { class: "muted" }, word("node.gone"))]),
              ids.length > 8 ? word("n-more", { n: ids.length - 8 }) : null,
            )
          : null,
      ),
    );
  });
  const names = followed.map((each) => `${each.name} (${each.op})`);
  return [
    el(
      "section",
      { class: "section" },
      el("h3", {}, word("node.journey")),
      el(
        "p",
        { class: "muted wrap" },
        names.length > 6
          ? `${names.slice(0, 5).join(", ")}, … ${word("n-more", { n: names.length - 5 })}`
          : names.join(", "),
      ),
      el("ol", { class: "journey" }, ...rows),
    ),
  ];
}

/**
 * @param {number} stage
 * @param {string} id
 */
function stageNode(stage, id) {
  const button = nodeButton(id);
  button.dataset.stage = String(stage);
  return button;
}
