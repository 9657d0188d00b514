// A view in a frame of this site's own pages, such as a lesson: it has the reader's theme, opens at the change that
// mattered most, and tells the page around it about its state.
import { isFramed } from "../../elements/dom.js";
import { followTheme, startTheme } from "../../elements/theme.js";
import { mostSaved } from "../../results/stages.js";
import { together } from "../../state/state.js";
import { PLACE_KEYS, toFragment } from "../../state/url.js";

/**
 * @typedef {object} ViewState what the event `view` of the frame tells
 * @property {"running" | "shown" | "failed"} state
 * @property {string} address the playground at the reader's position
 * @property {import("../../state/page.js").PageProblem | null} problem
 */

/**
 * @param {HTMLElement} main
 * @param {import("../../state/page.js").PageState} state
 * @param {string} fragment
 * @returns {() => void}
 */
export function mountOwnView(main, state, fragment) {
  startTheme();
  followTheme();
  main.toggleAttribute("data-framed", isFramed());
  let isPlaced = new URLSearchParams(fragment.replace(/^#/, "")).has("stage");
  return together(
    state.watch(["result"], ({ result }) => {
      if (!result || isPlaced) return;
      isPlaced = true;
      state.set({ stage: mostSaved(result.stages) });
    }),
    state.watch(["result", "problem", ...PLACE_KEYS], (page) => tell(viewState(page))),
  );
}

/**
 * @param {import("../../state/page.js").Page} page
 * @returns {ViewState}
 */
export function viewState(page) {
  const { result, problem } = page;
  const state = result ? "shown" : problem ? "failed" : "running";
  return { state, address: `/#${toFragment(page)}`, problem };
}

/** Dispatch an event at the frame; a page of another site has no access to its element. @param {ViewState} detail */
function tell(detail) {
  window.frameElement?.dispatchEvent(new CustomEvent("view", { detail }));
}
