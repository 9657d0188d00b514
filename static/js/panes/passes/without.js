// The experiment without a pass: one name, one pipeline and one result, for the pane of steps and for the tour.
import { listen } from "../../elements/dom.js";
import { together } from "../../state/state.js";
import { withoutPass } from "../../text/pipeline_text.js";
import { word } from "../../text/words.js";

/** @typedef {import("../../state/page.js").PageState} PageState */

/**
 * Return the pipeline of the shown compilation without a pass; null if the pass has no line.
 * @param {PageState} state
 * @param {string} pass
 */
function pipelineWithout(state, pass) {
  const { result, pipeline, work } = state.get();
  return work && result ? withoutPass(pipeline || result.pipeline, pass) : null;
}

/**
 * Open the pane Compare, which compiles without a pass. An equal earlier compilation and its comparison are reused.
 * @param {PageState} state
 * @param {string} pass
 */
function tryWithout(state, pass) {
  const planned = pipelineWithout(state, pass);
  if (planned !== null) state.set({ planned, other: "", pair: "", trial: true, pane: "compare" });
}

/**
 * Name a button by the experiment without a pass, and hide it if the experiment is impossible.
 * @param {HTMLElement} button
 * @param {PageState} state
 * @param {string} pass
 */
export function showWithout(button, state, pass) {
  button.hidden = pipelineWithout(state, pass) === null;
  button.title = word("steps.without-words");
  button.textContent = word("steps.without", { name: pass });
}

/**
 * @param {HTMLElement} button
 * @param {PageState} state
 * @param {() => string} passOf the name of the pass, "" for none
 * @param {() => void} [after] called after the pane opened
 * @returns {() => void}
 */
export function mountWithout(button, state, passOf, after = () => {}) {
  return listen(button, {
    click: () => {
      tryWithout(state, passOf());
      after();
    },
  });
}

/**
 * Mount the button of the pane of steps, which is about the pass of the shown stage.
 * @param {HTMLElement} button
 * @param {PageState} state
 * @returns {() => void}
 */
export function mountWithoutShown(button, state) {
  const passOf = () => state.get().result?.stages[state.get().stage]?.name ?? "";
  return together(
    mountWithout(button, state, passOf),
    state.watch(["stage", "result", "pipeline"], () => showWithout(button, state, passOf())),
  );
}
