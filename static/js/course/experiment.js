// The results of an experiment: a table of its cases, and bars with the intervals of timed quantities.
import { el } from "../elements/dom.js";
import { word } from "../text/words.js";
import { svg } from "./svg.js";

/**
 * @typedef {import("../wire.js").LessonBlock} LessonBlock
 * @typedef {import("../wire.js").LessonAmount} LessonAmount
 * @typedef {import("../wire.js").LessonMeasure} LessonMeasure
 * @typedef {import("../wire.js").LessonCase} LessonCase
 */

const [WIDTH, HEIGHT] = [240, 22];
/** Maximum number of quantities in columns, if there are fewer cases. */
const MOST_COLUMNS = 4;
/** Maximum number of dots of one bar. */
const DOTS = 60;

/**
 * @param {LessonBlock} found
 * @param {string} draw "table", "bars" or "roofline"
 * @returns {Node[]}
 */
export function experimentLab(found, draw) {
  /** @type {HTMLElement[]} */
  const parts = [draw === "table" ? table(found) : bars(found)];
  const ratios = Object.entries(found.amounts).filter(([name]) => !name.includes("."));
  if (ratios.length)
    parts.push(
      el("dl", { class: "lab-ratios" }, ...ratios.flatMap(([name, { text }]) => [el("dt", {}, name), el("dd", {}, text)])),
    );
  if (draw !== "table" && found.cases.some(({ rounds }) => rounds.length)) parts.push(el("p", { class: "lab-note" }, word("lab.times-note")));
  return parts;
}

/** @param {LessonCase} each */
function caseWords({ words, pipeline }) {
  return el("span", { class: "muted" }, words || word("lab.pipeline", { pipeline }));
}

/**
 * Return a table with the cases as rows; many quantities of few cases are rows instead.
 * @param {LessonBlock} found
 */
function table({ cases, measure, amounts }) {
  const ofCase = (/** @type {LessonCase} */ each, /** @type {"row" | "col"} */ scope) =>
    el("th", { scope, class: scope === "col" ? "number" : "" }, each.name, " ", caseWords(each));
  const amount = (/** @type {LessonCase} */ each, /** @type {LessonMeasure} */ { name }) => cell(amounts[`${each.name}.${name}`]);
  const isWide = measure.length > MOST_COLUMNS && cases.length < measure.length;
  const heads = isWide ? cases.map((each) => ofCase(each, "col")) : measure.map((each) => heading(each, "col"));
  const rows = isWide
    ? measure.map((quantity) => [heading(quantity, "row"), ...cases.map((each) => amount(each, quantity))])
    : cases.map((each) => [ofCase(each, "row"), ...measure.map((quantity) => amount(each, quantity))]);
  return el(
    "div",
    { class: "table-wrap", tabIndex: 0, role: "group", "aria-label": word("lab.case") },
    el(
      "table",
      { class: "table lab-table", "data-quantities": isWide ? "rows" : "columns" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, isWide ? word("lab.quantity") : word("lab.case")), ...heads)),
      el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells))),
    ),
  );
}

/** @param {LessonMeasure} measure @param {"row" | "col"} scope */
function heading({ name, words }, scope) {
  return el("th", { scope, class: scope === "col" ? "number" : "", title: words }, plain(name));
}

const plain = (/** @type {string} */ name) => name.replace(/_/g, " ");

/** @param {LessonAmount | undefined} amount */
function cell(amount) {
  if (!amount) return el("td", { class: "number" }, "–");
  const [value, interval] = amount.text.split(" (");
  return el(
    "td",
    { class: "number" },
    value,
    interval !== undefined && el("span", { class: "lab-interval" }, ` (${interval}`),
  );
}

/**
 * Return bars: for each quantity a group, and in it a bar for each case.
 * @param {LessonBlock} found
 */
function bars({ cases, measure, amounts }) {
  return el(
    "div",
    { class: "lab-bars" },
    ...measure.map((quantity) => {
      const rows = cases.map((each) => ({ each, amount: amounts[`${each.name}.${quantity.name}`] }));
      const most = Math.max(0, ...rows.map(({ each, amount }) => largest(amount, quantity.timed ? each.rounds : [])));
      return el(
        "section",
        { class: "lab-bar-group" },
        el("h4", { title: quantity.words }, plain(quantity.name)),
        ...rows.map(({ each, amount }, i) =>
          el(
            "div",
            { class: "lab-bar" },
            el("span", { class: "lab-bar-case" }, each.name),
            amount ? bar(amount, quantity.timed ? each.rounds : [], most, i) : el("span", {}, "–"),
            amount ? value(amount) : "",
          ),
        ),
      );
    }),
    el("dl", { class: "lab-cases" }, ...cases.flatMap((each) => [el("dt", {}, each.name), el("dd", {}, caseWords(each))])),
  );
}

/** @param {LessonAmount} amount */
function value(amount) {
  const [text, interval] = amount.text.split(" (");
  return el(
    "span",
    { class: "lab-bar-value" },
    text,
    interval !== undefined && el("span", { class: "lab-interval" }, ` (${interval}`),
  );
}

/** @param {LessonAmount | undefined} amount @param {number[]} rounds */
function largest(amount, rounds) {
  const high = amount?.high ?? amount?.value ?? 0;
  // Outliers of a disturbed machine must not shorten the bars.
  return Math.max(high, ...rounds.filter((each) => each < 2 * high));
}

/**
 * @param {LessonAmount} amount
 * @param {number[]} rounds
 * @param {number} most value of a full bar
 * @param {number} i number of the case
 */
function bar({ value: long, low, high }, rounds, most, i) {
  const x = (/** @type {number} */ each) => (most > 0 ? Math.min(each / most, 1) * WIDTH : 0);
  const drawn = svg("svg", { class: "lab-bar-track", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  drawn.append(
    svg("rect", { class: "lab-bar-room", x: 0, y: 4, width: WIDTH, height: HEIGHT - 8, rx: 2 }),
    svg("rect", { class: "lab-bar-fill", "data-case": i, x: 0, y: 4, width: Math.max(x(long ?? 0), 1), height: HEIGHT - 8, rx: 2 }),
  );
  if (low !== null && high !== null) {
    const step = Math.max(1, Math.ceil(rounds.length / DOTS));
    rounds.forEach((each, at) => {
      if (at % step === 0 && each <= most)
        drawn.append(svg("circle", { class: "lab-bar-dot", cx: x(each), cy: HEIGHT / 2 + ((at / step) % 5) * 1.6 - 3.2, r: 1.3 }));
    });
    drawn.append(svg("path", { class: "lab-bar-interval", d: `M${x(low)} 2 V${HEIGHT - 2} M${x(high)} 2 V${HEIGHT - 2} M${x(low)} ${HEIGHT / 2} H${x(high)}` }));
  }
  return drawn;
}
