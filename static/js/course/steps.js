// The steps of a lesson: one is shown at a time, and the bar below always offers the next one.
import { part, partOf } from "../elements/dom.js";
import { word } from "../text/words.js";
import { note, progressIn, stateOf } from "./progress.js";

/**
 * @param {HTMLElement} root
 * @param {import("./lesson.js").LessonData} data
 * @param {import("./lesson.js").Task[]} tasks filled by the caller
 */
export function mountSteps(root, { lesson, n_steps: n }, tasks) {
  const sections = /** @type {HTMLElement[]} */ ([...root.querySelectorAll(".lesson-step")]);
  const links = /** @type {HTMLAnchorElement[]} */ ([...root.querySelectorAll("a[data-step]")]);
  const article = part(root, "article");
  const back = partOf(root, "back", HTMLButtonElement);
  const next = partOf(root, "next", HTMLButtonElement);
  const titles = links.map((each) => each.querySelector("span:nth-of-type(2)")?.textContent ?? "");
  let current = stepIn(location.hash) ?? Math.min(progressIn(lesson)?.step ?? 0, n - 1);

  /** @param {string} hash @returns {number | null} */
  function stepIn(hash) {
    const found = /^#step-(\d+)$/.exec(hash);
    const step = found ? Number(found[1]) - 1 : -1;
    return step >= 0 && step < n ? step : null;
  }

  /**
   * Show a step, and note the reader's place.
   * @param {number} step
   */
  function go(step) {
    if (step < 0 || step >= n) return;
    if (step > current) note(lesson, (progress) => (progress.seen = joined(progress.seen, current)));
    const isNew = step !== current;
    current = step;
    if (isNew) history.pushState(null, "", `#step-${step + 1}`);
    show();
    if (!isNew) return;
    article.scrollTop = 0;
    const title = sections[step].querySelector("h2");
    (title ?? article).focus({ preventScroll: true });
  }

  function show() {
    const isLast = current === n - 1;
    if (isLast) note(lesson, (progress) => (progress.seen = joined(progress.seen, current)));
    note(lesson, (progress) => (progress.step = current));
    const seen = new Set(progressIn(lesson)?.seen ?? []);
    sections.forEach((each, i) => (each.hidden = i !== current));
    links.forEach((each, i) => {
      if (i === current) each.setAttribute("aria-current", "step");
      else each.removeAttribute("aria-current");
      const isDone = seen.has(i) && tasks.every((task) => task.step !== i || task.isDone());
      each.toggleAttribute("data-done", isDone);
      part(each, "done").textContent = isDone ? word("lesson.step-done") : "";
    });
    back.disabled = current === 0;
    next.hidden = isLast;
    next.textContent = isLast ? "" : word("lesson.next", { title: titles[current + 1] });
    part(root, "left").textContent = leftWords(tasks.filter((task) => task.step === current && !task.isDone()));
    showEnd();
  }

  /** @param {import("./lesson.js").Task[]} left */
  function leftWords(left) {
    const step = word("lesson.step", { step: current + 1, steps: n });
    const [first] = left;
    if (!first) return step;
    const exercises = left.filter(({ kind }) => kind === "exercise").length;
    const key = { predict: "lesson.left-predict", why: "lesson.left-why" }[first.kind] ?? "lesson.left-exercise";
    return `${step}. ${word(key, { n: exercises })}`;
  }

  function showEnd() {
    const exercises = tasks.filter(({ kind }) => kind === "exercise");
    const { state } = stateOf(progressIn(lesson), exercises.length);
    const open = exercises.filter((task) => !task.isDone()).length;
    const questions = tasks.filter((task) => task.kind !== "exercise" && !task.isDone()).length;
    part(root, "end-says").textContent = open
      ? word("lesson.some-left", { n: open })
      : questions
        ? word("lesson.questions-left", { n: questions })
        : state === "done" ? word("lesson.all-done") : "";
  }

  back.addEventListener("click", () => go(current - 1));
  next.addEventListener("click", () => go(current + 1));
  for (const each of links)
    each.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      go(Number(each.dataset.step));
    });
  addEventListener("popstate", () => {
    const step = stepIn(location.hash) ?? 0;
    if (step === current) return;
    current = step;
    show();
    article.scrollTop = 0;
  });
  document.addEventListener("keydown", (event) => {
    if (!event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "PageDown") go(current + 1);
    else if (event.key === "PageUp") go(current - 1);
    else return;
    event.preventDefault();
  });
  return { go, show };
}

/** @param {number[]} list @param {number} step */
const joined = (list, step) => (list.includes(step) ? list : [...list, step].sort((a, b) => a - b));
