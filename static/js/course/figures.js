// Fills the figures of the prose with results of the run.
import { word } from "../text/words.js";

/**
 * @param {HTMLElement} root
 * @param {import("./run.js").RunState} run
 * @param {(prediction: string | undefined) => boolean} isCovered
 */
export function fillFigures(root, run, isCovered) {
  const isOver = run.state === "done" || run.state === "failed";
  for (const each of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("[data-figure]"))) {
    const text = run.found?.figures[each.dataset.figure ?? ""];
    const kind = isCovered(each.dataset.covered) ? "covered" : text !== undefined ? "value" : isOver ? "absent" : "waiting";
    each.dataset.state = kind;
    each.title = kind === "covered" ? word("lesson.hidden-figure-words") : "";
    each.textContent =
      { covered: word("lesson.hidden-figure"), value: text ?? "", absent: word("lesson.no-figure"), waiting: "…" }[kind];
  }
}
