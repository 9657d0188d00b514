// Correctness of the numbers: the error of each pass and of each value, and the first pass that changed
// a number. A button starts the check, because the reference computes every stage.
import { checkerOf } from "../../jobs/checking.js";
import { clone, closest, el, listen, part, partOf } from "../../elements/dom.js";
import { isQuick, worstFirst } from "../../charts/errors_axis.js";
import { stageTitle } from "../../results/stages.js";
import { selectNode, selectedIds } from "../../state/selection.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { leadOf, methodOf, programOf, rewritesOf, stageTable } from "./found.js";
import { plotOf } from "./plot.js";
import { distances, valueTable } from "./values.js";
import { mountBisect } from "./bisect.js";
import { showProblem } from "../shell/problem.js";
import { mountTable } from "../shell/table.js";

/** Maximum number of values in the table; further values are only counted. */
const MOST = 300;

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {import("../../jobs/beside.js").Findings} findings
 * @returns {() => void}
 */
export function mountNumerics(root, state, findings) {
  const { result } = state.get();
  if (!result?.kernels.length && !result?.complete) {
    root.replaceChildren(el("p", { class: "pane-empty" }, word("numerics.none")));
    return () => {};
  }
  root.replaceChildren(clone("pane-numerics"));
  const checker = checkerOf(state);
  part(root, "bar").hidden = state.get().work === null;
  const start = partOf(root, "start", HTMLButtonElement);
  const cancel = partOf(root, "cancel", HTMLButtonElement);
  const plot = part(root, "plot");
  const titleOf = (/** @type {number} */ stage) => stageTitle(state.get().result?.stages[stage]);
  const toStage = (/** @type {{stage: number}} */ row) => state.set({ stage: row.stage });
  const stages = mountTable(part(root, "stages"), state, stageTable(toStage, titleOf));
  const values = mountTable(
    part(root, "values"),
    state,
    valueTable(
      (value) => state.get().graph?.nodes.find((each) => each.id === value.node)?.op ?? "",
      (value) => {
        const node = state.get().graph?.nodes.find((each) => each.id === value.node);
        if (node) state.set(selectNode(node));
      },
    ),
  );

  function follow(/** @type {MouseEvent} */ event) {
    const data = closest(event, "button")?.dataset ?? {};
    if (data.step !== undefined)
      state.set({ stage: Number(data.stage), pane: "steps", step: data.step });
    else if (data.stage !== undefined) state.set({ stage: Number(data.stage) });
  }

  function draw() {
    const { numerics, stage, result: now } = state.get();
    const { found, problem, state: how } = numerics;
    const running = how === "running";
    start.hidden = running;
    start.textContent = word(how === "" || how === "gone" ? "numerics.start" : "numerics.again");
    cancel.hidden = !running;
    const total = now?.stages.length ?? 1;
    part(root, "busy").textContent = running
      ? word("numerics.busy", { words: numerics.words, n: found?.rows.length ?? 0, total })
      : how === "cancelled" || how === "gone" ? word(`numerics.${how}`) : "";
    showProblem(part(root, "problem"), problem);
    part(root, "intro").hidden = found !== null || problem !== null;
    part(root, "body").hidden = found === null || found.rows.length === 0;
    root.dataset.checked = how;
    if (!found || found.rows.length === 0) return;
    part(root, "lead").replaceChildren(...leadOf(found, how, titleOf));
    const focused = plot.contains(document.activeElement)
      ? /** @type {HTMLElement} */ (document.activeElement).dataset.stage
      : undefined;
    plot.replaceChildren(...plotOf(found, stage));
    if (focused !== undefined)
      /** @type {HTMLElement | null} */ (plot.querySelector(`[data-stage="${focused}"]`))?.focus();
    part(root, "program").replaceChildren(...programOf(found));
    part(root, "rewrites").replaceChildren(...rewritesOf(found));
    part(root, "method").replaceChildren(...methodOf(found));
    stages.show(found.rows);
    markStage();
  }

  function markStage() {
    stages.mark((row) => row.stage === state.get().stage, false);
  }

  function drawValues() {
    const page = state.get();
    const { values: checked, graph, numerics } = page;
    part(root, "values-section").hidden = numerics.found === null;
    const name = page.stage ? titleOf(page.stage) : word("numerics.imported");
    const shown = checked?.values ?? [];
    part(root, "values-title").textContent = word("numerics.values", { name });
    part(root, "values-says").textContent = checked
      ? word("numerics.values-say", { n: shown.length, all: checked.n_values, moved: shown.filter((each) => each.moved).length })
      : word("numerics.no-values");
    const sorted = worstFirst(shown);
    part(root, "values-more").textContent =
      sorted.length > MOST ? word("n-more", { n: sorted.length - MOST }) : "";
    part(root, "values").hidden = shown.length === 0;
    if (graph) values.show(sorted.slice(0, MOST));
    markValues(false); // no scrolling: the values changed without user action
  }

  function markValues(/** @type {boolean} */ scroll) {
    const page = state.get();
    const chosen = selectedIds(page.graph?.nodes ?? [], page);
    values.mark((value) => chosen.has(value.node), scroll);
    const picked = page.values?.values.filter((each) => chosen.has(each.node)) ?? [];
    part(root, "distances").replaceChildren(
      ...(page.values && picked.length ? distances(picked[0], page.values.places) : []),
    );
  }

  const stop = together(
    mountBisect(part(root, "bisect"), state, findings),
    listen(start, { click: () => void checker.start(findings) }),
    listen(cancel, { click: () => checker.cancel() }),
    listen(part(root, "body"), { click: follow }),
    state.watch(["numerics"], draw),
    state.watch(["stage"], () => {
      const { found } = state.get().numerics;
      if (found?.rows.length) plot.replaceChildren(...plotOf(found, state.get().stage));
      markStage();
    }),
    state.watch(["values", "graph"], drawValues),
    state.watch(["selection", "at"], () => markValues(true)),
    stages.stop,
    values.stop,
  );
  const { numerics, check, work } = state.get();
  if (numerics.state === "" && check === "" && (!work || isQuick(result)))
    void checker.start(findings);
  return stop;
}
