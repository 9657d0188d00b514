// In a small window, shows the legend below the drawing, or the map over it, on request.
import { closest, listen, part } from "../../elements/dom.js";
import { together } from "../../state/state.js";

/**
 * @param {HTMLElement} root root element of the graph
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountOver(root, state) {
  const stage = part(root, "stage");
  const buttons = [...root.querySelectorAll("button[data-over]")];
  return together(
    listen(stage, {
      click: (event) => {
        const chosen = closest(event, "button[data-over]")?.dataset.over;
        if (chosen !== "legend" && chosen !== "map") return;
        state.set({ over: state.get().over === chosen ? "" : chosen });
      },
    }),
    state.watch(["over"], ({ over }) => {
      stage.dataset.over = over;
      for (const each of buttons) each.setAttribute("aria-pressed", String(each.getAttribute("data-over") === over));
    }),
  );
}
