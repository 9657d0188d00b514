// The blocks that ask: a prediction before its experiment, and a question on the reason.
import { el, part } from "../elements/dom.js";
import { formatRatio } from "../text/format.js";
import { word } from "../text/words.js";
import { compared, numberIn } from "./estimate.js";
import { note, progressIn } from "./progress.js";
import { resultsOf } from "./run.js";

/**
 * @typedef {import("./lesson.js").BlockData} BlockData
 * @typedef {import("./run.js").RunState} RunState
 *
 * @typedef {object} Asked
 * @property {() => boolean} isDone
 * @property {(run: RunState) => void} show shows the feedback that the results allow
 */

/**
 * Return a copy of the feedback on an answer, which the page contains.
 * @param {HTMLFormElement} form
 * @param {number} answer
 */
function feedbackOn(form, answer) {
  const found = form.querySelector(`[data-feedback="${answer}"]`);
  return el("span", {}, ...[...(found?.childNodes ?? [])].map((each) => each.cloneNode(true)));
}

/**
 * Mount a prediction; `decided` is called when the reader commits or skips.
 * @param {HTMLFormElement} form
 * @param {string} lesson
 * @param {BlockData} data
 * @param {() => void} decided
 * @returns {Asked}
 */
export function mountPrediction(form, lesson, data, decided) {
  const says = part(form, "feedback");
  const number = form.querySelector("input[name=number]");
  const skip = part(form, "skip");
  const stored = () => progressIn(lesson)?.predictions[data.name];
  /** @type {RunState} */
  let run = { state: "waiting", found: null, problem: null };

  const before = stored();
  if (before?.value) put(form, before.value);

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const value = number instanceof HTMLInputElement ? number.value.trim() : chosen(form);
    const isReadable = number instanceof HTMLInputElement ? numberIn(value) !== null : value !== "";
    if (!isReadable) return say("open", word(number ? "predict.no-number" : "predict.no-choice"));
    decide(value);
  });
  skip.addEventListener("click", () => decide(""));

  /** @param {string} value */
  function decide(value) {
    note(lesson, ({ predictions }) => (predictions[data.name] = { value }));
    update();
    decided();
  }

  /** @param {string} kind @param {...(Node | string)} content */
  function say(kind, ...content) {
    form.dataset.verdict = kind;
    says.replaceChildren(el("p", {}, ...content));
  }

  function update() {
    const made = stored();
    if (!made) return;
    // A prediction stays as it was made.
    for (const each of form.querySelectorAll("input, button")) /** @type {HTMLInputElement} */ (each).disabled = true;
    part(form, "commit").hidden = skip.hidden = true;
    const found = resultsOf(run.found, data.block);
    const answer = found?.amounts.answer;
    if (!found && (run.state === "waiting" || run.state === "running")) return say("noted", word("predict.waiting"));
    if (!answer || answer.value === null) return say("absent", word("predict.absent"));
    if (!number) return choiceFeedback(found?.right ?? 0, made.value);
    numberFeedback(answer, made.value);
  }

  /** @param {number} right @param {string} value */
  function choiceFeedback(right, value) {
    markRight(form, right, value);
    const text = form.querySelectorAll(".ask-choice span")[right]?.textContent ?? "";
    const reason = feedbackOn(form, right);
    if (value === "") return say("skipped", word("predict.skipped", { value: text }), " ", reason);
    if (Number(value) === right) return say("right", word("predict.choice-right"), " ", reason);
    say("wrong", word("predict.choice-wrong", { right: text }), " ", feedbackOn(form, Number(value)));
  }

  /** @param {import("../wire.js").LessonAmount} answer @param {string} value */
  function numberFeedback({ value: result, text }, value) {
    const guess = numberIn(value);
    if (guess === null) return say("skipped", word("predict.skipped", { value: text }));
    const { verdict, ratio } = compared(guess, result ?? 0, data.within ?? 0);
    say(verdict === "right" ? "right" : "wrong", word(`predict.${verdict}`, { value: text, ratio: formatRatio(ratio) }));
  }

  update();
  return {
    isDone: () => stored() !== undefined,
    show: (state) => {
      run = state;
      update();
    },
  };
}

/**
 * Mount a question; wrong answers may be followed by others.
 * @param {HTMLFormElement} form
 * @param {string} lesson
 * @param {BlockData} data
 * @param {() => void} decided
 * @returns {Asked}
 */
export function mountWhy(form, lesson, data, decided) {
  const says = part(form, "feedback");
  const key = String(data.block);
  const stored = () => progressIn(lesson)?.answers[key] ?? [];
  const isRight = (/** @type {number | undefined} */ each) => each !== undefined && data.right?.[each] === true;

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const value = chosen(form);
    if (value === "") return void says.replaceChildren(el("p", {}, word("predict.no-choice")));
    note(lesson, ({ answers }) => (answers[key] = [...stored(), Number(value)]));
    update();
    decided();
  });

  function update() {
    const last = stored().at(-1);
    if (last === undefined) return;
    put(form, String(last));
    const verdict = isRight(last) ? "right" : "wrong";
    form.dataset.verdict = verdict;
    says.replaceChildren(el("p", {}, el("strong", {}, word(`why.${verdict}`)), " ", feedbackOn(form, last)));
  }

  update();
  return { isDone: () => stored().some(isRight), show: () => {} };
}

/** @param {HTMLFormElement} form */
const chosen = (form) => String(new FormData(form).get("choice") ?? "");

/** @param {HTMLFormElement} form @param {string} value */
function put(form, value) {
  for (const each of form.querySelectorAll("input")) {
    if (each.type === "radio") each.checked = each.value === value;
    else each.value = value;
  }
}

/** @param {HTMLFormElement} form @param {number} right @param {string} value */
function markRight(form, right, value) {
  form.querySelectorAll(".ask-choice").forEach((each, i) => {
    if (i === right) each.setAttribute("data-right", "");
    else if (String(i) === value) each.setAttribute("data-wrong", "");
  });
}
