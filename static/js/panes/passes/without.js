// The button that compiles without the shown pass, and compares both programs.
import { listen } from "../../elements/dom.js";
import { together } from "../../state/state.js";
import { withoutPass } from "../../text/pipeline_text.js";
import { word } from "../../text/words.js";

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
        if (found) state.set({ planned: found.planned, other: "", pair: "", trial: true, pane: "compare" });
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
