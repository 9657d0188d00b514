// The outputs of a run: the largest classes of a vector, the range and the first elements, and a link to the file.
import { api } from "../../server/api.js";
import { el } from "../../elements/dom.js";
import { bar } from "../../elements/figures.js";
import { isUndisturbed } from "../../results/disturbance.js";
import { formatBytes, formatCount, formatPercent, formatSeconds, unbroken } from "../../text/format.js";
import { word } from "../../text/words.js";

/**
 * @typedef {import("../../wire.js").RunResult} RunResult
 * @typedef {import("../../wire.js").RunOutput} RunOutput
 */

/**
 * @param {RunResult} run
 * @param {string} job
 * @returns {HTMLElement[]}
 */
export function outputsOf({ inputs, outputs, times, disturbance }, job) {
  const given = inputs.map(({ name, type, file }) =>
    el("li", {}, el("code", {}, `${name}: ${type}`), " ", file ? word("run.from-file", { file }) : word("run.from-seed")),
  );
  return [
    ...outputs.map((each) => outputOf(each, job)),
    el(
      "section",
      { class: "section" },
      el("h3", {}, word("run.this-run")),
      el("ul", { class: "value-list" }, ...given),
      times ? el("p", {}, word("run.time", { time: formatSeconds(times.median_s), n: formatCount(times.repeats) })) : null,
      disturbance && el("p", { class: isUndisturbed(disturbance) ? "muted" : "disturbed" }, unbroken(disturbance.words)),
    ),
  ];
}

/**
 * Return the announcement of a run: the largest class of the first output with classes.
 * @param {RunResult} run
 */
export function headline({ outputs }) {
  const best = outputs.find(({ classes }) => classes.length > 0)?.classes[0];
  return best ? word("run.predicted", { index: best.index, share: formatPercent(best.share) }) : word("run.done", { n: outputs.length });
}

/** @param {RunOutput} output @param {string} job */
function outputOf(output, job) {
  const { name, type, n_elements, bytes, first, classes, is_stored, output: number } = output;
  const address = is_stored && api.runOutputAddress(job, number);
  const rest = n_elements - first.length;
  return el(
    "section",
    { class: "section", "data-output": name },
    el("h3", { class: "wrap" }, `${name}: `, el("code", {}, type)),
    ...(classes.length ? [classList(output)] : []),
    rangeOf(output),
    first.length
      ? el("p", { class: "mono wrap run-elements" }, first.join(", "), rest > 0 ? ` ${word("n-more", { n: rest })}` : "")
      : null,
    address
      ? el("p", {}, el("a", { class: "button", href: address, download: "" }, word("run.download", { size: formatBytes(bytes) })))
      : null,
  );
}

/** @param {RunOutput} output */
function classList({ classes, are_probabilities }) {
  const rows = classes.map(({ index, share }) =>
    el("li", { "data-class": String(index) }, el("span", { class: "run-class" }, String(index)), bar(share), el("span", { class: "number" }, formatPercent(share))),
  );
  return el(
    "div",
    {},
    el("p", { class: "run-predicted" }, word("run.predicted", { index: classes[0].index, share: formatPercent(classes[0].share) })),
    el("ol", { class: "run-classes", "aria-label": word("run.classes") }, ...rows),
    el("p", { class: "muted" }, word(are_probabilities ? "run.probabilities" : "run.softmax")),
  );
}

/** @param {RunOutput} output */
function rangeOf({ minimum, maximum, mean, n_elements, n_not_finite }) {
  const short = (/** @type {number | null} */ value) => (value === null ? "–" : String(Number(value.toPrecision(5))));
  const facts = [word("run.elements", { n: n_elements, count: formatCount(n_elements) })];
  if (minimum !== null) facts.push(word("run.range", { minimum: short(minimum), maximum: short(maximum), mean: short(mean) }));
  if (n_not_finite) facts.push(word("run.not-finite", { n: n_not_finite }));
  return el("p", { class: "muted" }, facts.join(" "));
}
