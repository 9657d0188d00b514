// The page of a lesson: its steps one at a time, the results of its blocks, questions and exercises.
import { el, part, partOf, presentResult } from "../elements/dom.js";
import { word } from "../text/words.js";
import { mountExercise } from "./exercise.js";
import { fillFigures } from "./figures.js";
import { labContent, problemBox } from "./labs.js";
import { note, progressIn } from "./progress.js";
import { mountPrediction, mountWhy } from "./questions.js";
import { resultsOf, startRun } from "./run.js";
import { mountSteps } from "./steps.js";
import { createView } from "./view.js";

/**
 * @typedef {object} BlockData what the page contains about a block
 * @property {number} block position in the lesson
 * @property {string} kind
 * @property {string} name
 * @property {number} [within] relative tolerance of a prediction
 * @property {string[]} [sources] blocks whose results answer a prediction
 * @property {boolean[]} [right] right answers of a question
 * @property {string} [folder]
 * @property {import("./judge.js").Exercise} [exercise]
 * @property {{pane: string, of: string, pipeline: string, select: string, step: number, words: string}} [view]
 * @property {boolean} [is_sample]
 * @property {string} [draw]
 *
 * @typedef {{lesson: string, blocks: BlockData[], n_steps: number}} LessonData
 * @typedef {{step: number, kind: string, isDone: () => boolean}} Task something that the reader does in a step
 */

/** @param {HTMLElement} root */
export function mountLesson(root) {
  /** @type {LessonData} */
  const data = JSON.parse(document.getElementById("lesson-data")?.textContent ?? "{}");
  const { lesson } = data;
  note(lesson, (progress) => (progress.steps = data.n_steps));
  const ofName = new Map(data.blocks.map((each) => [each.name, each]));
  /** @type {import("./run.js").RunState} */
  let run = { state: "waiting", found: null, problem: null };
  /** @type {Task[]} */
  const tasks = [];
  /** @type {import("./questions.js").Asked[]} */
  const asked = [];

  const stepOf = (/** @type {Element} */ each) =>
    Number(/** @type {HTMLElement | null} */ (each.closest("[data-step]"))?.dataset.step ?? 0);
  const dataOf = (/** @type {HTMLElement} */ each) => data.blocks[Number(each.dataset.block)];
  const steps = mountSteps(root, data, tasks);

  function decided() {
    showResults();
    steps.show();
  }

  for (const form of root.querySelectorAll("form.ask")) {
    if (!(form instanceof HTMLFormElement)) continue;
    const mount = form.dataset.kind === "predict" ? mountPrediction : mountWhy;
    const made = mount(form, lesson, dataOf(form), decided);
    asked.push(made);
    tasks.push({ step: stepOf(form), kind: form.dataset.kind ?? "", isDone: made.isDone });
  }
  for (const each of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("section.exercise"))) {
    const made = mountExercise(each, lesson, dataOf(each), decided);
    tasks.push({ step: stepOf(each), kind: "exercise", isDone: made.isDone });
  }

  // The text of each block, before its results replace it.
  const labs = /** @type {HTMLElement[]} */ ([...root.querySelectorAll("section.lab")]);
  const sources = new Map(labs.map((each) => [each, each.querySelector("code")?.textContent?.trimEnd() ?? ""]));
  const views = new Map(
    labs.filter((each) => each.dataset.kind === "view").map((each) => [each, createView(dataOf(each))]),
  );
  /** What each block shows now, so its content is made only once per run. @type {Map<HTMLElement, string>} */
  const shown = new Map();
  /** Number of runs, and the run to which the results belong. */
  let started = 0;
  let foundIn = 0;

  /** Whether the prediction that covers a result was neither made nor skipped. @param {string | undefined} prediction */
  const isCovered = (prediction) => Boolean(prediction) && progressIn(lesson)?.predictions[prediction ?? ""] === undefined;

  const named = (/** @type {string} */ name) => resultsOf(run.found, ofName.get(name)?.block ?? -1);
  const hasRun = () => run.state === "done" || run.state === "failed";

  function showResults() {
    for (const lab of labs) showLab(lab);
    fillFigures(root, run, isCovered);
    for (const each of asked) each.show(run);
    showRun();
  }

  /** @param {HTMLElement} lab */
  function showLab(lab) {
    const block = dataOf(lab);
    const found = resultsOf(run.found, block.block);
    const body = part(lab, "body");
    const says = part(lab, "state");
    const next = isCovered(lab.dataset.covered) ? "covered" : found !== null ? `run ${foundIn}` : "waiting";
    const view = next === "covered" ? undefined : views.get(lab);
    const isReady = view ? view.show(body, named, hasRun()) : next !== "waiting";
    const isWaiting = !isReady && run.state !== "failed";
    says.textContent = isWaiting ? word("lesson.lab-waiting") : "";
    lab.toggleAttribute("data-waiting", isWaiting);
    if (view) return void shown.delete(lab);
    const before = shown.get(lab);
    if (before === next) return;
    shown.set(lab, next);
    if (next === "covered") body.replaceChildren(cover(lab.dataset.covered ?? ""));
    else if (found) body.replaceChildren(...labContent(found, block, sources.get(lab) ?? ""));
    else if (before === "covered") body.replaceChildren(el("p", { class: "lab-note" }, word("lesson.lab-waiting")));
  }

  /** @param {string} prediction */
  function cover(prediction) {
    const go = () => {
      const form = document.getElementById(`predict-${prediction}`);
      if (!form) return;
      steps.go(stepOf(form));
      form.querySelector("input")?.focus();
      presentResult(form);
    };
    const show = () => {
      /** @type {HTMLElement | null} */ (document.querySelector(`#predict-${prediction} [data-part="skip"]`))?.click();
    };
    return el(
      "div",
      { class: "lab-cover" },
      el("p", {}, word("lab.cover")),
      el("p", { class: "ask-buttons" },
        el("button", { class: "button", type: "button", onclick: go }, word("lab.cover-go")),
        el("button", { class: "link-button", type: "button", onclick: show }, word("lab.cover-show"))),
    );
  }

  const place = part(root, "run");

  function showRun() {
    const button = (/** @type {string} */ words) =>
      el("button", { class: "link-button", type: "button", onclick: () => start(false) }, words);
    const all = data.blocks.filter(({ kind }) => !["view", "why", "exercise"].includes(kind)).length;
    place.dataset.state = run.state;
    if (run.state === "failed" && run.problem)
      place.replaceChildren(problemBox(run.problem), button(word("lesson.retry")));
    else if (run.state === "done") place.replaceChildren(word("lesson.ran", { n: all }), " ", button(word("lesson.again")));
    else if (run.state === "waiting") place.replaceChildren(word("lesson.waiting"));
    else place.replaceChildren(word("lesson.running", { n: run.found?.blocks.length ?? 0, all }));
  }

  /** @param {boolean} reuse */
  function start(reuse) {
    const number = ++started;
    startRun(lesson, reuse, (state) => {
      if (number !== started) return;
      if (state.found) foundIn = number;
      // The results of an earlier run stay until the new run has its own.
      run = { ...state, found: state.found ?? run.found };
      showResults();
    });
  }

  start(true);
  steps.show();
  partOf(root, "next", HTMLButtonElement).disabled = false;
}
