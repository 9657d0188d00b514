// What the pane of steps shows for the imported graph, which no pass has changed yet.
import { breakNames } from "../../elements/breaks.js";
import { el } from "../../elements/dom.js";
import { bar } from "../../elements/figures.js";
import { firstChange } from "../../results/stages.js";
import { formatBytes, formatCount } from "../../text/format.js";
import { word } from "../../text/words.js";

/** Maximum number of listed operators; the table of the graph lists every node. */
const MOST_OPERATORS = 15;

/**
 * Return the facts of the model, and a button that leads to the first change.
 * @param {import("../../wire.js").Result} result
 * @returns {HTMLElement}
 */
export function imported({ model, inputs, outputs, stages, state }) {
  const first = firstChange(stages);
  const button = first && el("button", { class: "button", type: "button" }, word("steps.first-change", { name: first.name }));
  if (button) button.dataset.firstChange = String(first.stage);
  const never = !first && state !== "running";
  return breakNames(
    el(
      "li",
      { class: "pane-body" },
      el("h2", {}, word("steps.none-imported")),
      never ? el("p", { class: "muted" }, word("steps.never-changed")) : null,
      el(
        "dl",
        { class: "facts" },
        ...fact("imported.inputs", inputs.map(typed)),
        ...fact("imported.outputs", outputs.map(typed)),
        ...fact("imported.parameters", [
          word("imported.size", { count: formatCount(model.n_parameters), bytes: formatBytes(model.constant_bytes) }),
        ]),
      ),
      button ? el("p", {}, button) : null,
      ...operators(model),
    ),
  );
}

/** @param {string} key @param {(string | HTMLElement)[]} values */
function fact(key, values) {
  const items = values.map((value) => el("li", {}, value));
  return [el("dt", {}, word(key)), el("dd", {}, el("ul", { class: "value-list" }, ...items))];
}

/** @param {import("../../wire.js").TypedName} value */
function typed({ name, type }) {
  return el("code", {}, `${name}: ${type}`);
}

/** @param {import("../../wire.js").Model} model */
function operators({ operators: counts, n_nodes }) {
  const most = Math.max(1, ...counts.map(({ count }) => count));
  const rows = counts
    .slice(0, MOST_OPERATORS)
    .flatMap(({ op, count }) => [el("code", {}, op), bar(count / most), el("span", { class: "number" }, formatCount(count))]);
  const rest = counts.length - MOST_OPERATORS;
  return [
    el("h3", {}, word("imported.operators", { n: n_nodes, count: formatCount(n_nodes) })),
    el("div", { class: "bars" }, ...rows),
    rest > 0 ? el("p", { class: "muted" }, word("n-more", { n: rest })) : null,
  ];
}
