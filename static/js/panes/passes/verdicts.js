// Fusion verdicts: a section of the pane Node about the edges of the node in focus.
import { foldOf } from "../../state/bindings.js";
import { el } from "../../elements/dom.js";
import { edgeOf } from "../../graph/edge_walk.js";
import { graphWithEdge, verdictsOn } from "../../results/neighbours.js";
import { stageTitle } from "../../results/stages.js";
import { valueOf } from "../../graph/labels.js";
import { unbroken } from "../../text/format.js";
import { word } from "../../text/words.js";

/** @typedef {import("../../wire.js").Result} Result */

/**
 * @param {import("../../wire.js").GraphNode} node
 * @param {import("../../wire.js").StageGraph} graph
 * @param {import("../../state/page.js").PageState} state
 * @returns {HTMLElement[]}
 */
export function verdictsSection(node, graph, state) {
  const { neighbours, edge: text, before, graph: after } = state.get();
  const edge = edgeOf(text);
  const shown = graphWithEdge([graph, after, before], edge) ?? graph;
  const end = shown.nodes.find(({ id }) => id === node.id) ?? node;
  const found = verdictsOn(end, shown, neighbours);
  const isMeant = (/** @type {import("../../results/neighbours.js").Verdict} */ { other, side }) =>
    edge !== null && other.id === (side === "reads" ? edge.from : edge.to);
  const isOfNode = edge && neighbours && [edge.from, edge.to].includes(node.id);
  const unsaid = isOfNode && !found.some(isMeant) ? word("edge.unsaid", edge) : "";
  if (found.length === 0 && !unsaid) return [];
  return [
    el(
      "section",
      { class: "section", "data-section": "verdicts" },
      el("h3", {}, word("verdict.title")),
      el("p", { class: "muted" }, word("verdict.words")),
      unsaid ? el("p", { class: "verdict-unsaid" }, unsaid) : null,
      el(
        "ul",
        { class: "verdicts" },
        ...found.flatMap((each) =>
          each.answers.map((answer) => {
            const made = item(answer, node, each.other, each.side, state);
            if (isMeant(each)) made.setAttribute("aria-current", "true");
            return made;
          }),
        ),
      ),
    ),
  ];
}

/**
 * Return the compiler's decision, in one to three words.
 * @param {import("../../wire.js").Neighbour} answer
 * @param {import("../../wire.js").GraphNode} node
 * @param {import("../../wire.js").GraphNode} other
 */
export function verdictWord({ verdict }, node, other) {
  // A view has the same bytes with other sizes and no kernel, so its edges never connect two kernels.
  const isView = verdict === "apart" && [node, other].some(({ family }) => family === "view");
  return word(isView ? "verdict.view" : `verdict.${verdict.replace(" ", "-")}`);
}

/**
 * @param {import("../../wire.js").Neighbour} answer
 * @param {import("../../wire.js").GraphNode} node
 * @param {import("../../wire.js").GraphNode} other
 * @param {"reads" | "read by"} side
 * @param {import("../../state/page.js").PageState} state
 */
function item(answer, node, other, side, state) {
  const { maker, reader, verdict, because, chapters } = answer;
  return el(
    "li",
    { class: "verdict", "data-verdict": verdict },
    el(
      "div",
      { class: "verdict-head" },
      el("span", { class: "muted" }, word(side === "reads" ? "node.inputs" : "node.readers")),
      el("button", { class: "link-button mono", type: "button", "data-node": other.id }, valueOf(other)),
      el("span", { class: "badge", "data-kind": verdict }, verdictWord(answer, node, other)),
    ),
    el("p", {}, unbroken(because.replace(`${maker} and ${reader} are not fused: `, ""))),
    chapters.length === 1 && because.endsWith(chapters[0].because)
      ? el("p", { class: "muted" }, word("verdict.decided"), " ", chapterButton(chapters[0], state.get().result))
      : chapters.length
      ? foldOf(
          el(
            "details",
            {},
            el("summary", {}, word("verdict.steps", { n: chapters.length })),
            el("ol", {}, ...chapters.map((told) => chapter(told, state.get().result))),
          ),
          state,
          "verdict",
          `${maker}:${reader}`,
        )
      : null,
  );
}

/** @param {import("../../wire.js").Chapter} told @param {Result | null} result */
function chapter(told, result) {
  const { outcome, because } = told;
  const says = el("span", { class: "muted" }, `${word(`steps.${outcome}`)} ${because}`);
  return el("li", {}, chapterButton(told, result), " ", says);
}

/** @param {import("../../wire.js").Chapter} chapter @param {Result | null} result */
function chapterButton({ stage, pass_name: pass, rule, outcome, at }, result) {
  const title = stageTitle(result?.stages[stage]);
  const button = el(
    "button",
    { class: "link-button", type: "button", title: word("verdict.go") },
    rule === pass ? title : `${title}: ${rule}`,
  );
  Object.assign(button.dataset, { stage: String(stage), rule, ledgerAt: at, outcome });
  return button;
}
