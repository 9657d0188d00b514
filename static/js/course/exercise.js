// An exercise: the answer with its skeleton, hints, the verdict of the judge, and the solution.
import { el, part, partOf, presentResult } from "../elements/dom.js";
import { answers } from "../server/course.js";
import { asProblem } from "../jobs/compile.js";
import { word } from "../text/words.js";
import { mountAnswer } from "./answer.js";
import { givenTexts } from "./given.js";
import { judge, prepareJudge } from "./judge.js";
import { code, problemBox } from "./labs.js";
import { note, progressIn, untried } from "./progress.js";
import { verdictContent } from "./verdict.js";

/**
 * @typedef {import("./lesson.js").BlockData} BlockData
 * @typedef {import("./progress.js").Tried} Tried
 */

const SAVE_AFTER_MS = 300;

/**
 * Mount an exercise; `decided` is called when its state changes.
 * @param {HTMLElement} root
 * @param {string} lesson
 * @param {BlockData} data
 * @param {() => void} decided
 * @returns {{isDone: () => boolean}}
 */
export function mountExercise(root, lesson, data, decided) {
  const exercise = data.exercise;
  const folder = data.folder ?? "";
  if (!exercise) return { isDone: () => true };
  const tried = () => progressIn(lesson)?.exercises[folder] ?? untried();
  const keep = (/** @type {Partial<Tried>} */ more) =>
    note(lesson, ({ exercises }) => (exercises[folder] = { ...tried(), ...more }));
  const verdict = part(root, "verdict");
  const check = partOf(root, "check", HTMLButtonElement);
  const solutionButton = part(root, "solution");
  let isJudging = false;

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let saving;
  const answer = mountAnswer(part(root, "answer"), {
    language: root.dataset.language ?? "text",
    text: tried().text || exercise.skeleton,
    changed: () => {
      prepareJudge(exercise);
      clearTimeout(saving);
      saving = setTimeout(save, SAVE_AFTER_MS);
    },
    submit: () => void submit(),
  });
  part(root, "given").replaceChildren(...givenTexts(exercise));

  function save() {
    clearTimeout(saving);
    const text = answer.text();
    keep({ text: text === exercise?.skeleton ? "" : text });
  }
  addEventListener("pagehide", save);

  async function submit() {
    if (isJudging || !exercise) return;
    isJudging = check.disabled = true;
    save();
    answer.mark([]);
    const tell = (/** @type {string} */ words) =>
      verdict.replaceChildren(el("p", { class: "verdict-busy" }, words));
    tell(word("exercise.judging"));
    try {
      const found = await judge({ exercise, files: { [exercise.file]: answer.text() }, tell });
      verdict.replaceChildren(...verdictContent(found, exercise));
      verdict.dataset.verdict = found.verdict;
      answer.mark(found.error ? [found.error] : []);
      keep({ attempts: tried().attempts + 1, passed: tried().passed || found.verdict === "passed" });
    } catch (problem) {
      verdict.dataset.verdict = "error";
      verdict.replaceChildren(problemBox(asProblem(problem)));
    }
    isJudging = check.disabled = false;
    presentResult(verdict);
    show();
    decided();
  }

  function show() {
    const { passed, hints } = tried();
    root.toggleAttribute("data-passed", passed);
    part(root, "state").textContent = passed ? word("exercise.passed") : "";
    const all = /** @type {HTMLElement[]} */ ([...root.querySelectorAll("[data-hint]")]);
    all.forEach((each, i) => (each.hidden = i >= hints));
    const button = root.querySelector('[data-part="hint"]');
    if (button instanceof HTMLElement) {
      button.hidden = hints >= all.length;
      button.textContent = word("exercise.hint-next", { n: hints + 1 });
    }
  }

  async function showSolution() {
    if (!tried().passed && !tried().solved && !confirm(word("exercise.solution-sure"))) return;
    const place = part(root, "solution-place");
    try {
      const { solution, discussion } = await answers.solution(exercise?.id ?? "");
      const use = el("button", { type: "button", class: "link-button", onclick: () => answer.put(solution) }, word("exercise.use-solution"));
      place.replaceChildren(el("h4", {}, word("exercise.solution")), code(solution), el("p", {}, discussion), use);
      keep({ solved: true });
      solutionButton.hidden = true;
    } catch (problem) {
      place.replaceChildren(problemBox(asProblem(problem)));
    }
  }

  check.addEventListener("click", () => void submit());
  root.querySelector('[data-part="hint"]')?.addEventListener("click", () => {
    keep({ hints: tried().hints + 1 });
    show();
    presentResult(root.querySelectorAll("[data-hint]")[tried().hints - 1]);
  });
  solutionButton.addEventListener("click", () => void showSolution());
  part(root, "reset").addEventListener("click", () => {
    if (answer.text() !== exercise.skeleton && !confirm(word("exercise.reset-sure"))) return;
    answer.put(exercise.skeleton);
    save();
  });
  show();
  return { isDone: () => tried().passed };
}
