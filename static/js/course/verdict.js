// The verdict on an answer: its tests, scores, counterexample and output.
import { el } from "../elements/dom.js";
import { formatBytes, formatCount, formatFlops, formatPercent, formatRatio, formatSeconds } from "../text/format.js";
import { word } from "../text/words.js";
import { code, drawingPlace, problemBox } from "./labs.js";
import { playgroundAddress } from "./view_link.js";

/**
 * @typedef {import("../wire.js").Judgement} Judgement
 * @typedef {import("../wire.js").JudgedTest} JudgedTest
 * @typedef {import("../wire.js").Counterexample} Counterexample
 */

/** Number of elements of an array that are shown. */
const MOST_ELEMENTS = 24;

/** @type {Record<string, (value: number) => string>} */
const UNITS = {
  B: formatBytes,
  s: formatSeconds,
  flop: formatFlops,
  share: formatPercent,
  ratio: formatRatio,
  "flop/B": formatRatio,
};

/**
 * @param {Judgement} found
 * @param {import("./judge.js").Exercise} exercise
 * @returns {HTMLElement[]}
 */
export function verdictContent(found, exercise) {
  const failed = found.tests.filter(({ passed }) => !passed);
  const passed = found.tests.filter((each) => each.passed);
  const head = el(
    "p",
    { class: "verdict-head" },
    el("strong", {}, word(`exercise.${found.verdict === "error" && passed.length ? "failed" : found.verdict}`)),
    found.tests.length > 0 &&
      el("span", { class: "muted" }, word("exercise.tests", { n: found.tests.length, passed: passed.length })),
  );
  /** @type {HTMLElement[]} */
  const parts = [head];
  if (found.error) parts.push(problemBox(found.error));
  const tests = [...failed.map((each) => row(each)), ...passed.slice(0, 4).map((each) => row(each))];
  if (passed.length > 4) tests.push(el("li", { class: "muted" }, word("exercise.more-passed", { n: passed.length - 4 })));
  if (tests.length) parts.push(el("ul", { class: "verdict-tests" }, ...tests));
  const example = failed.find(({ counterexample }) => counterexample)?.counterexample;
  if (example) parts.push(counterexampleBox(example, exercise));
  if (found.scores.length) parts.push(scores(found.scores));
  if (found.output)
    parts.push(
      el("details", { class: "lab-details", open: true }, el("summary", {}, word("exercise.output")), el("pre", { class: "lab-code", tabIndex: 0 }, found.output)),
    );
  return parts;
}

/** @param {JudgedTest} test */
function row({ name, passed, message }) {
  // The message of a score begins with its quantity, which may also end the name of the test.
  const [quantity] = message.split(": ");
  const isRepeated = quantity !== message && name.replace(/_/g, " ").endsWith(quantity);
  const says = isRepeated ? message.slice(quantity.length + 2) : message;
  return el(
    "li",
    { "data-passed": String(passed) },
    el("span", { class: "verdict-mark", "aria-hidden": "true" }, passed ? "✓" : "✗"),
    el("span", { class: "visually-hidden" }, word(passed ? "exercise.passed" : "exercise.failed"), ": "),
    el("span", {}, el("strong", {}, name), says ? `: ${says}` : ""),
  );
}

/** @param {Judgement["scores"]} list */
function scores(list) {
  return el(
    "dl",
    { class: "verdict-scores" },
    ...list.map(({ test, name, value, unit, goal, reached }) => {
      const text = (/** @type {number | null} */ each) => (each === null ? "∞" : (UNITS[unit] ?? formatCount)(each));
      return el(
        "div",
        { "data-reached": String(reached) },
        el("dt", { title: test }, name.replace(/_/g, " ")),
        el("dd", {}, el("strong", {}, text(value)), " ", el("span", { class: "muted" }, word("exercise.goal", { goal: text(goal) }))),
      );
    }),
  );
}

/**
 * @param {Counterexample} example
 * @param {import("./judge.js").Exercise} exercise
 */
function counterexampleBox(example, exercise) {
  const { step, drawings = {} } = example;
  const took = new Set(step?.took ?? []);
  const made = new Set(step?.made ?? []);
  const names = (/** @type {Set<string>} */ set) => [...set].join(", ") || word("exercise.nothing");
  const side = (/** @type {"graph" | "answer"} */ name, /** @type {string} */ title, /** @type {Set<string>} */ marked) => {
    const text = example[name];
    if (text === undefined) return null;
    return el(
      "figure",
      { class: "lab-side" },
      el("figcaption", {}, title),
      drawings[name] ? drawingPlace(drawings[name], marked) : null,
      code(text),
    );
  };
  return el(
    "div",
    { class: "counterexample" },
    el("h4", {}, word("exercise.counterexample")),
    example.differs && el("p", { class: "counterexample-differs" }, example.differs),
    step && el("p", {}, word("exercise.step", { rule: step.rule, at: step.at, took: names(took), made: names(made) })),
    el(
      "div",
      { class: "lab-sides" },
      side("graph", word("exercise.given-graph"), took),
      side("answer", word("exercise.answer-graph"), made),
    ),
    arrays("exercise.inputs", example.inputs),
    arrays("exercise.expected", example.expected),
    arrays("exercise.got", example.got),
    example.problem !== undefined && titled(word("exercise.problem"), example.problem),
    example.plan !== undefined && titled(word("exercise.plan"), example.plan),
    example.graph !== undefined && exercise.kind !== "write_planner"
      ? el("p", {}, el("a", { class: "button", href: playgroundAddress({ graph: example.graph }), target: "_blank", rel: "opener" }, word("exercise.open")))
      : null,
  );
}

/** @param {string} title @param {string} text */
function titled(title, text) {
  return el("div", {}, el("h5", {}, title), el("pre", { class: "lab-code", tabIndex: 0 }, text));
}

/** @param {string} key @param {Record<string, any> | undefined} values */
function arrays(key, values) {
  const rows = Object.entries(values ?? {});
  if (!rows.length) return null;
  return el(
    "dl",
    { class: "counterexample-arrays" },
    el("dt", {}, word(key)),
    ...rows.map(([name, value]) =>
      el("dd", {}, el("code", {}, `${name}: ${value?.type ?? ""} = ${shown(value?.values)}`)),
    ),
  );
}

/**
 * Return the text of nested lists of numbers, cut after some elements.
 * @param {unknown} values
 */
function shown(values) {
  let left = MOST_ELEMENTS;
  /** @param {unknown} each @returns {string} */
  const text = (each) => {
    if (!Array.isArray(each)) {
      left -= 1;
      return typeof each === "number" ? String(Number(each.toPrecision(6))) : String(each);
    }
    const parts = [];
    for (const item of each) {
      if (left <= 0) {
        parts.push("…");
        break;
      }
      parts.push(text(item));
    }
    return `[${parts.join(", ")}]`;
  };
  return text(values);
}
