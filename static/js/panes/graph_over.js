// Legend and map in a small window: one of them over the drawing, when it is asked for.
import { closest, listen, part } from "../dom.js";

/**
 * @param {HTMLElement} root of the graph
 * @returns {() => void}
 */
export function mountOver(root) {
  const stage = part(root, "stage");
  const buttons = [...root.querySelectorAll("button[data-over]")];
  return listen(stage, {
    click: (event) => {
      const chosen = closest(event, "button[data-over]")?.dataset.over;
      if (!chosen) return;
      stage.dataset.over = stage.dataset.over === chosen ? "" : chosen;
      for (const each of buttons)
        each.setAttribute("aria-pressed", String(each.getAttribute("data-over") === stage.dataset.over));
    },
  });
}
