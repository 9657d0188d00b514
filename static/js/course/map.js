// The map of the course: the progress in each lesson, and the file that carries it.
import { el, listen, part, partOf } from "../elements/dom.js";
import { word } from "../text/words.js";
import { exported, forget, imported, lastLesson, progressIn, stateOf } from "./progress.js";

/** @param {HTMLElement} root */
export function mountMap(root) {
  const file = partOf(root, "file", HTMLInputElement);
  const says = part(root, "file-says");
  show(root);
  listen(part(root, "save"), { click: () => save() });
  listen(part(root, "load"), { click: () => file.click() });
  listen(part(root, "forget"), {
    click: () => {
      if (!confirm(word("course.forget-sure"))) return;
      forget();
      says.textContent = word("course.forgotten");
      show(root);
    },
  });
  listen(file, {
    change: async () => {
      const [chosen] = file.files ?? [];
      if (!chosen) return;
      const n = imported(await chosen.text());
      file.value = "";
      says.textContent = n < 0 ? word("course.not-progress") : word("course.loaded", { n });
      show(root);
    },
  });

  function save() {
    const address = URL.createObjectURL(new Blob([exported()], { type: "application/json" }));
    el("a", { href: address, download: "compilarium-course.json" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
    says.textContent = word("course.saved");
  }
}

/** @param {HTMLElement} root */
function show(root) {
  const lessons = /** @type {HTMLElement[]} */ ([...root.querySelectorAll("[data-lesson]")]);
  let done = 0;
  for (const each of lessons) {
    const progress = progressIn(each.dataset.lesson ?? "");
    const all = Number(/** @type {HTMLElement | null} */ (each.querySelector("[data-exercises]"))?.dataset.exercises ?? 0);
    const { state, passed } = stateOf(progress, all);
    each.dataset.state = state;
    if (state === "done") done += 1;
    part(each, "state").textContent = stateWords(state, passed, all, progress);
  }
  part(root, "progress").textContent = lessons.some(({ dataset }) => dataset.state !== "new")
    ? word("course.n-done", { n: done, all: lessons.length })
    : "";
  const last = lessons.find(({ dataset }) => dataset.lesson === lastLesson());
  const begin = partOf(root, "begin", HTMLAnchorElement);
  if (!last || last.dataset.state === "done") return;
  begin.href = `/learn/${last.dataset.lesson}`;
  begin.textContent = word("course.continue", { title: last.querySelector(".course-title")?.textContent ?? "" });
}

/**
 * @param {string} state
 * @param {number} passed
 * @param {number} all
 * @param {import("./progress.js").LessonProgress | null} progress
 */
function stateWords(state, passed, all, progress) {
  if (state === "done") return word("course.state-done");
  if (state === "read") return word("course.state-read", { passed, all });
  if (state === "new" || !progress) return "";
  if (!progress.steps) return word("course.state-begun-some");
  return word("course.state-begun", { step: progress.step + 1, steps: progress.steps });
}
