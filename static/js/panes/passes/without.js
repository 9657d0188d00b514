// The button that compiles without the shown pass, and compares both programs.
import { listen } from "../../elements/dom.js";
import { together } from "../../state/state.js";
import { withoutPass } from "../../text/pipeline_text.js";
import { word } from "../../text/words.js";

/**
 * Open the pane Compare, which compiles without a pass at once.
 * @param {import("../../state/page.js").PageState} state
 * @param {string} planned the pipeline without the pass
 */
export function tryPipeline(state, planned) {
  state.set({ planned, other: "", pair: "", trial: true, pane: "compare" });
}

/**
 * @param {HTMLButtonElement} button
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountWithout(button, state) {
  /** Return the name of the shown pass and the pipeline without it; null if it has no line. */
  const edited = () => {
    const { result, pipeline, stage, work } = state.get();
    const name = result?.stages[stage]?.name ?? "";
    const planned = work && result ? withoutPass(pipeline || result.pipeline, name) : null;
    return planned === null ? null : { name, planned };
  };
  return together(
    listen(button, {
      click: () => {
        const found = edited();
        if (found) tryPipeline(state, found.planned);
      },
    }),
    state.watch(["stage", "result", "pipeline"], () => {
      const found = edited();
      button.hidden = found === null;
      button.title = word("steps.without-words");
      button.textContent = word("steps.without", { name: found?.name ?? "" });
    }),
  );
}
