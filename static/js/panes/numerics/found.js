// Findings of a check as sentences and tables: the pass that changed the numbers, the program, rewrites.
import { el } from "../../elements/dom.js";
import { figure } from "../../elements/figures.js";
import { formatCount, formatError, formatSeconds } from "../../text/format.js";
import { word } from "../../text/words.js";

/**
 * @typedef {import("../../wire.js").Numerics} Numerics
 * @typedef {import("../../wire.js").CheckedStage} CheckedStage
 */

/** The largest change is also reported if it exceeds the first change by this factor. */
const MUCH_MORE = 10;

/**
 * Return the first pass that changed a number, and the first pass beyond the tolerance.
 * @param {Numerics} found
 * @param {import("../../state/page.js").Checking["state"]} how state of the check
 * @param {(stage: number) => string} title
 * @returns {HTMLElement[]}
 */
export function leadOf({ rows, first_moved, first_wrong, allowed, broken, program }, how, title) {
  const row = (/** @type {number | null} */ stage) => rows.find((each) => each.stage === stage);
  const [moved, wrong] = [row(first_moved), row(first_wrong)];
  const lines = [];
  if (broken) lines.push(el("p", { class: "numerics-wrong" }, word("numerics.broken", { why: broken })));
  if (wrong)
    lines.push(
      el(
        "p",
        { class: "numerics-wrong" },
        "⚠ ",
        ...(wrong.stage === 0
          ? [word("numerics.imported-wrong")]
          : [word("numerics.first-wrong"), " ", link(wrong.stage, title)]),
        ": ",
        wrong.objection || word("numerics.off-by", { error: formatError(wrong.relative_error), allowed: formatError(allowed) }),
      ),
    );
  if (program?.mark === "wrong")
    lines.push(el("p", { class: "numerics-wrong" }, "⚠ ", word("numerics.program-wrong", { error: formatError(program.relative_error), allowed: formatError(allowed) })));
  if (moved)
    lines.push(
      el(
        "p",
        {},
        word("numerics.first-moved"),
        " ",
        link(moved.stage, title),
        ": ",
        word("numerics.moved-by", { moved: formatError(moved.moved), allowed: formatError(allowed) }),
      ),
    );
  const most = rows.reduce((a, b) => ((b.moved ?? 0) > (a.moved ?? 0) ? b : a), rows[0]);
  if (moved && (most.moved ?? 0) > MUCH_MORE * (moved.moved ?? Infinity))
    lines.push(
      el(
        "p",
        {},
        word("numerics.most-moved"),
        " ",
        link(most.stage, title),
        ": ",
        word("numerics.most-moved-by", { moved: formatError(most.moved) }),
      ),
    );
  if (!moved && how === "done" && !broken)
    lines.push(el("p", {}, neverMoved(program).map(([key, values]) => word(key, values)).join(" ")));
  return lines;
}

/**
 * Return the sentences for stages of equal bits: numpy computes the stages, so the generated code may
 * still have an error.
 * @param {Pick<import("../../wire.js").CheckedRun, "relative_error"> | null} program
 * @returns {[string, Record<string, string>?][]}
 */
export function neverMoved(program) {
  if (!program) return [["numerics.never-moved"]];
  const error = program.relative_error;
  return [
    ["numerics.never-moved"],
    error === 0 ? ["numerics.never-moved-exact"] : ["numerics.never-moved-program", { error: formatError(error) }],
  ];
}

/** @param {number} stage @param {(stage: number) => string} title */
function link(stage, title) {
  const button = el("button", { type: "button", class: "link-button mono" }, title(stage));
  button.dataset.stage = String(stage);
  return button;
}

/**
 * @param {Numerics} found
 * @returns {HTMLElement[]}
 */
export function programOf({ program, no_program, yardstick }) {
  if (!program)
    return no_program ? [el("p", { class: "muted" }, word("numerics.no-program", { why: no_program }))] : [];
  return [
    el("h3", {}, word("numerics.program-title")),
    el(
      "dl",
      { class: "memory-figures" },
      figure(yardstick === "reference" ? "numerics.against-ours" : "numerics.against-onnx", formatError(program.relative_error)),
      figure("numerics.against-f64", program.wide_error === null ? "–" : formatError(program.wide_error)),
      figure("numerics.ulps", program.ulps === null ? "–" : formatUlps(program.ulps)),
    ),
    ...(program.outputs.length > 1
      ? [
          el(
            "table",
            { class: "table" },
            el("caption", { class: "visually-hidden" }, word("numerics.outputs")),
            el("thead", {}, el("tr", {}, ...["output", "error", "wide", "ulps"].map((key, i) =>
              el("th", { scope: "col", class: i ? "number" : "" }, word(`numerics-column.${key}`))))),
            el("tbody", {}, ...program.outputs.map((each) =>
              el("tr", {},
                el("td", { class: "mono wrap" }, each.name, each.note ? ` (${each.note})` : ""),
                el("td", { class: "number" }, formatError(each.relative_error)),
                el("td", { class: "number" }, each.wide_error === null ? "–" : formatError(each.wide_error)),
                el("td", { class: "number" }, each.ulps === null ? "–" : formatUlps(each.ulps))))),
          ),
        ]
      : []),
  ];
}

/** @param {number} ulps */
export function formatUlps(ulps) {
  return ulps < 1e4 ? formatCount(Number(ulps.toPrecision(3))) : formatError(ulps);
}

/**
 * @param {Numerics} found
 * @returns {HTMLElement[]}
 */
export function rewritesOf({ rewrites, bisect_command, first_wrong, broken }) {
  const bisect = [
    el("p", {}, word("numerics.bisect")),
    el("pre", { class: "code wrap" }, el("code", {}, bisect_command)),
  ];
  const broke = first_wrong !== null || broken !== "";
  if (!rewrites) return broke ? bisect : [];
  const { n_applied, n_judged, wrong } = rewrites;
  const says = wrong.length ? "numerics.rewrites-wrong" : "numerics.rewrites";
  return [
    el("h3", {}, word("numerics.rewrites-title")),
    el("p", {}, word(says, { n: wrong.length, applied: formatCount(n_applied), judged: formatCount(n_judged), others: word("numerics.rewrites-others") })),
    ...(wrong.length
      ? [
          el(
            "ul",
            { class: "numerics-rewrites" },
            ...wrong.map((each) => {
              const button = el("button", { type: "button", class: "link-button mono" }, `${each.rule} → ${each.at}`);
              button.dataset.stage = String(each.stage);
              if (each.step >= 0) button.dataset.step = `${each.stage}:${each.step}`;
              return el("li", {}, "⚠ ", button, " ", word("numerics.rewrite-wrong", { pass: each.pass_name, kind: each.kind, why: each.objection }));
            }),
          ),
        ]
      : []),
    ...(broke || wrong.length ? bisect : []),
  ];
}

/**
 * Return the method of the check, and the equivalent command.
 * @param {Numerics} found
 * @returns {HTMLElement[]}
 */
export function methodOf(found) {
  const { yardstick, note, seed, kinds, narrow, n_narrow, in_codes, check_command } = found;
  const lines = [
    word(yardstick === "reference" ? "numerics.method-ours" : "numerics.method-onnx", { seed }),
    note,
    kinds.length > 1 ? word("numerics.kinds", { kinds: kinds.join(", ") }) : "",
    in_codes ? word("numerics.codes") : "",
    n_narrow ? word("numerics.narrow", { n: n_narrow, names: narrow.join(", ") }) : "",
  ];
  return [
    el("h3", {}, word("numerics.method")),
    ...lines.filter(Boolean).map((line) => el("p", { class: "muted" }, line)),
    el("pre", { class: "code wrap" }, el("code", {}, check_command)),
  ];
}

/**
 * Create the table with the errors of every pass.
 * @param {(row: CheckedStage) => void} onPick
 * @param {(stage: number) => string} titleOf
 */
export function stageTable(onPick, titleOf) {
  return {
    name: /** @type {const} */ ("numerics-stages"),
    caption: word("numerics.caption"),
    keyOf: (/** @type {CheckedStage} */ row) => String(row.stage),
    onPick,
    columns: [
      {
        id: "stage",
        title: word("numerics-column.stage"),
        cell: (/** @type {CheckedStage} */ row) =>
          el("button", { type: "button", class: "link-button mono" }, titleOf(row.stage)),
        order: (/** @type {CheckedStage} */ row) => -row.stage,
        whole: true,
      },
      {
        id: "verdict",
        title: word("numerics-column.verdict"),
        cell: (/** @type {CheckedStage} */ row) =>
          row.changed ? word(`numerics-verdict.${row.mark}`) : word("passes.unchanged"),
        order: (/** @type {CheckedStage} */ row) => row.mark,
        whole: true,
      },
      numeric("error", (row) => row.relative_error, formatError),
      numeric("wide", (row) => row.wide_error, formatError, true),
      numeric("ulps", (row) => row.ulps, (ulps) => formatUlps(ulps ?? 0), true),
      numeric("moved", (row) => (row.has_moved ? row.moved : 0), formatError),
      numeric("n-moved", (row) => row.n_moved, (n) => formatCount(n ?? 0)),
      numeric("time", (row) => row.seconds, (seconds) => (seconds ? formatSeconds(seconds) : "")),
    ],
  };
}

/**
 * @param {string} key
 * @param {(row: CheckedStage) => number | null} of
 * @param {(value: number | null) => string} format
 * @param {boolean} [absent] whether null means absent instead of NaN
 */
function numeric(key, of, format, absent = false) {
  return {
    id: key,
    title: word(`numerics-column.${key}`),
    hint: word(`numerics-hint.${key}`),
    cell: (/** @type {CheckedStage} */ row) => (absent && of(row) === null ? "–" : format(of(row))),
    order: (/** @type {CheckedStage} */ row) => of(row) ?? (absent ? -1 : Infinity),
    number: true,
  };
}
