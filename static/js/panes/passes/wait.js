// The screen that shows the progress of a compilation, before the first parts of its result.
import { clone, listen, part } from "../../elements/dom.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { showProblem } from "../shell/problem.js";
import { showProgress } from "../shell/progress.js";

/** @typedef {import("../../state/page.js").PageState} PageState */

/**
 * Mount the screen shown while a linked result is fetched or recompiled, and after a failure.
 * @param {HTMLElement} root
 * @param {PageState} state
 * @returns {() => void}
 */
export function mountWait(root, state) {
  root.replaceChildren(clone("wait"));
  const problem = part(root, "problem");
  return together(
    listen(part(root, "back"), { click: () => state.set({ screen: "start" }) }),
    state.watch(["progress", "problem"], (page) => {
      part(root, "title").textContent = page.problem
        ? word("wait.failed")
        : page.progress.words || word("progress.restoring");
      part(root, "track").hidden = page.problem !== null;
      showProgress(root, page.progress);
      showProblem(problem, page.problem);
    }),
  );
}
