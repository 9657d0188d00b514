// The search field over the drawing: it marks hits, and Enter goes to the next hit. Choosing a hit and
// leaving the field ends the search and its dimming.
import { bindValue, isOn, turn, watchSwitch } from "../../state/bindings.js";
import { listen, part, partOf } from "../../elements/dom.js";
import { searchNodes } from "../../graph/search.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";

/** @typedef {import("../../graph/search.js").Found} Found */

/**
 * @param {HTMLElement} root root element of the graph
 * @param {import("../../state/page.js").PageState} state
 * @param {() => import("../../graph/scene.js").Scene | null} scene
 * @param {{found: (keys: string[]) => void, show: (found: Found) => void, choose: (found: Found) => void}} hooks
 * @returns {{refresh: () => Found[], stop: () => void}}
 */
export function mountSearch(root, state, scene, { found, show, choose }) {
  const field = partOf(root, "search", HTMLInputElement);
  /** Whether a hit was chosen; the switch `search-done` is on if the user left the field after the choice. */
  let chosen = isOn(state, "search-done");

  function refresh() {
    const { find } = state.get();
    const asked = find.trim() !== "" && !isOn(state, "search-done");
    const drawn = scene();
    const hits = asked && drawn ? searchNodes(drawn, find) : [];
    const closed = hits.filter(({ isHidden }) => isHidden).length;
    part(root, "found").textContent = !asked
      ? ""
      : closed
        ? word("graph.found-closed", { n: hits.length, closed })
        : word("graph.found", { n: hits.length });
    found(hits.map(({ key }) => key));
    return hits;
  }

  const keys = listen(field, {
    focus: () => turn(state, "search-done", false),
    blur: () => turn(state, "search-done", chosen),
    input: () => {
      chosen = false;
      state.set({ find: field.value });
      const [first] = refresh();
      if (first) show(first);
    },
    keydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter") {
        const hits = refresh();
        const next = hits[(hits.findIndex(({ id }) => id === state.get().at) + 1) % hits.length];
        chosen = next !== undefined;
        if (next) choose(next);
      } else if (event.key === "Escape") {
        state.set({ find: "" });
        part(root, "canvas").focus();
      }
    },
  });
  const stop = together(
    keys,
    bindValue(field, state, "find"),
    state.watch(["find"], refresh),
    watchSwitch(state, "search-done", refresh),
  );
  return { refresh, stop };
}
