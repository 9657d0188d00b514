// The blocks with results: graphs, passes, experiments, schedules and plans.
import { el } from "../elements/dom.js";
import { showProblem } from "../panes/shell/problem.js";
import { highlight } from "../text/highlight.js";
import { word } from "../text/words.js";
import { experimentLab } from "./experiment.js";
import { motionContent } from "./motion/motion.js";
import { pictureOf } from "./picture.js";
import { planPicture } from "./plan_picture.js";

/**
 * @typedef {import("../wire.js").LessonBlock} LessonBlock
 * @typedef {import("../wire.js").LessonPass} LessonPass
 * @typedef {import("./lesson.js").BlockData} BlockData
 * @typedef {(name: string) => LessonBlock | null} Named the results of a block by name
 */

/** Number of steps of a ledger that are shown first. */
const FIRST_STEPS = 6;

/**
 * Return what a block shows once it has run.
 * @param {LessonBlock} found
 * @param {BlockData} data
 * @param {string} source text of the block
 * @returns {Node[]}
 */
export function labContent(found, data, source) {
  if (found.error) return [problemBox(found.error)];
  if (found.texts.error !== undefined) return refused(found, source);
  switch (found.kind) {
    case "graph":
      return [...drawn(found, "graph"), quantities(found, ""), details(word("lab.text-of"), found.texts.graph)];
    case "pipeline":
      return pipelineLab(found, source);
    case "experiment":
      return experimentLab(found, data.draw ?? "table");
    case "schedule":
      return [...(source.trim() ? [code(source)] : []), ...motionContent(found), counts(found), details(word("lab.loops"), found.texts.loops, "loops", true)];
    case "planner":
      return planLab(found);
    case "python":
      return pythonLab(found, source);
    default:
      return [];
  }
}

/** @param {import("../state/page.js").PageProblem} problem */
export function problemBox(problem) {
  const box = el("div", { class: "problem" });
  showProblem(box, problem);
  return box;
}

/** @param {LessonBlock} found @param {string} source */
function refused(found, source) {
  return [
    code(source),
    el("p", { class: "lab-note" }, word("lab.expected-error")),
    el("pre", { class: "lab-code lab-refused", tabIndex: 0 }, el("code", {}, found.texts.error)),
  ];
}

/**
 * Return a text with its syntax highlighted.
 * @param {string} text
 * @param {string} [language]
 */
export function code(text, language = "written") {
  const rows = text.replace(/\n$/, "").split("\n");
  return el(
    "pre",
    { class: "lab-code", tabIndex: 0 },
    el(
      "code",
      {},
      ...rows.map((row) => {
        const parts = highlight(language, row).map(([kind, each]) => (kind ? el("span", { class: `token-${kind}` }, each) : each));
        const line = el("span", { class: "code-row" }, ...parts, "\n");
        line.style.setProperty("--indent", String(row.search(/\S|$/)));
        return line;
      }),
    ),
  );
}

/**
 * @param {string} title
 * @param {string} text
 * @param {string} [language]
 * @param {boolean} [open]
 */
function details(title, text, language = "written", open = false) {
  return el("details", { class: "lab-details", open }, el("summary", {}, title), code(text, language));
}

/**
 * Return a place in which the drawing of a text appears, or the reason why there is none.
 * @param {LessonBlock} found
 * @param {string} name
 * @param {Set<string>} [marked]
 * @returns {HTMLElement[]}
 */
function drawn(found, name, marked) {
  const drawing = found.drawings[name];
  if (!drawing) return [];
  return [drawingPlace(drawing, marked)];
}

/**
 * @param {import("../wire.js").GraphDrawing} drawing
 * @param {Set<string>} [marked]
 */
export function drawingPlace(drawing, marked) {
  if (drawing.n_more > 0) return el("p", { class: "lab-note" }, word("lab.too-large", { n: drawing.n_more }));
  const place = el("div", { class: "lab-drawing", tabIndex: 0, role: "group" });
  place.style.minHeight = `${Math.min(80 + 50 * drawing.nodes.length, 380)}px`;
  pictureOf(drawing, marked).then(
    (picture) => {
      place.style.minHeight = "";
      place.setAttribute("aria-label", picture.getAttribute("aria-label") ?? "");
      place.replaceChildren(picture);
    },
    () => place.replaceChildren(),
  );
  return place;
}

/** @param {LessonBlock} found @param {string} prefix of the amounts */
function quantities(found, prefix) {
  const text = (/** @type {string} */ name) => found.amounts[prefix + name]?.text ?? "";
  if (!text("flops")) return el("p", { hidden: true }); // A graph with open sizes has no counts.
  const words = { nodes: text("nodes"), kernels: text("kernels"), bytes: text("bytes"), flops: text("flops") };
  return el("p", { class: "lab-note" }, word("lab.quantities", words));
}

/** @param {LessonBlock} found */
function counts(found) {
  const text = (/** @type {string} */ name) => found.amounts[name]?.text ?? "";
  const words = { loops: text("loops"), depth: text("depth"), iterations: text("iterations") };
  return el("p", { class: "lab-note" }, word("lab.schedule-counts", words));
}

/** @param {LessonBlock} found @param {string} source */
function pipelineLab(found, source) {
  const isMoving = Boolean(found.motion && !found.motion.omitted);
  return [
    code(source.trim()),
    ...motionContent(found),
    ...bothSides(found, !isMoving),
    ledger(found.passes),
    details(word("lab.text-before"), found.texts.before),
    details(word("lab.text-after"), found.texts.after),
  ];
}

/**
 * Return the graphs before and after the passes with their quantities, or the quantities alone.
 * @param {LessonBlock} found
 * @param {boolean} withDrawings
 */
function bothSides(found, withDrawings) {
  const side = (/** @type {"before" | "after"} */ which) =>
    el(
      "figure",
      { class: "lab-side" },
      el("figcaption", {}, word(`lab.${which}`)),
      ...(withDrawings ? drawn(found, which) : []),
      quantities(found, `${which}.`),
    );
  if (found.texts.before !== found.texts.after) return [el("div", { class: "lab-sides" }, side("before"), side("after"))];
  return [...(withDrawings ? drawn(found, "after") : []), el("p", { class: "lab-note" }, word("lab.same-graph"))];
}

/** @param {LessonPass[]} passes */
function ledger(passes) {
  const steps = passes.flatMap((pass) => pass.steps);
  const more = passes.reduce((sum, pass) => sum + pass.n_more, 0);
  if (!steps.length) return el("p", { class: "lab-note" }, word("lab.no-steps"));
  const rows = steps.map(({ rule, outcome, at, because }) =>
    el(
      "li",
      { class: "lab-step" },
      el("span", { class: "badge", "data-kind": outcome }, outcome),
      el("span", {}, el("code", {}, rule), at ? ` at ${at}` : "", because ? `: ${because}` : ""),
    ),
  );
  const list = (/** @type {HTMLElement[]} */ items) => el("ul", { class: "lab-steps" }, ...items);
  const rest = rows.slice(FIRST_STEPS);
  return el(
    "div",
    { class: "lab-ledger" },
    el("h4", {}, word("lab.ledger", { n: steps.length + more })),
    list(rows.slice(0, FIRST_STEPS)),
    rest.length > 0 &&
      el("details", { class: "lab-details" }, el("summary", {}, word("lab.more-steps", { n: rest.length + more })), list(rest)),
  );
}

/** @param {LessonBlock} found */
function planLab(found) {
  const text = (/** @type {string} */ name) => found.amounts[name]?.text ?? "";
  const words = { peak: text("peak_bytes"), bound: text("lower_bound_bytes"), unshared: text("unshared_bytes") };
  const bound = found.amounts.lower_bound_bytes?.value ?? 0;
  const isMoving = Boolean(found.motion && !found.motion.omitted);
  return [
    ...motionContent(found),
    ...(isMoving ? [] : [el("div", { class: "lab-drawing", tabIndex: 0 }, planPicture(found.buffers, bound))]),
    el("p", { class: "lab-note" }, word("lab.plan-figures", words)),
    details(word("lab.text-of"), found.texts.plan),
  ];
}

/** @param {LessonBlock} found @param {string} source */
function pythonLab(found, source) {
  const rows = Object.entries(found.amounts).map(([name, amount]) =>
    el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "number" }, amount.text)),
  );
  return [
    code(source),
    rows.length > 0 && el("table", { class: "table lab-table" }, el("tbody", {}, ...rows)),
    found.output !== "" && el("h4", {}, word("lab.output")),
    found.output !== "" && el("pre", { class: "lab-code", tabIndex: 0 }, el("code", {}, found.output)),
  ].filter((each) => each instanceof Node);
}
