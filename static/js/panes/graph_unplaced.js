// Colours by device before kernels were placed on devices: says so, and leads to where they are.
import { el, listen, part } from "../dom.js";
import { together } from "../state.js";
import { word } from "../words.js";
import { panesOf } from "./index.js";

const PANE = "devices";

/**
 * @param {HTMLElement} root of the graph
 * @param {import("../page.js").PageState} state
 * @returns {() => void}
 */
export function mountUnplaced(root, state) {
  const note = part(root, "unplaced");
  const go = el("button", { class: "button", type: "button" }, word("overlay.place"));
  return together(
    listen(go, { click: () => state.set({ pane: PANE }) }),
    state.watch(["color", "placement", "work", "pane", "result"], (page) => {
      note.hidden = page.color !== "device" || page.placement !== null;
      if (note.hidden) return;
      const canPlace = page.result?.memory && panesOf(page).some(({ id }) => id === PANE);
      const says = el("span", {}, word(canPlace ? "overlay.unplaced" : "overlay.no-placement"));
      note.replaceChildren(says, ...(canPlace && page.pane !== PANE ? [go] : []));
    }),
  );
}
