// Two charts of candidates: times in the order of the search, and predicted against measured times.
import { word } from "../../text/words.js";

/** @typedef {import("../../wire.js").TuneTrial} TuneTrial */

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 560;
const HEIGHT = 220;
const LEFT = 44;
const BOTTOM = 30;
const MOST = 2;

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {...(Node | string)} children
 */
function svg(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

const high = (/** @type {number} */ ratio) =>
  10 + (HEIGHT - BOTTOM - 10) * (1 - Math.min(ratio, MOST) / MOST);

/** Draw the frame: grid lines at ratios of the policy's time, and labels of both axes. */
function frame(/** @type {string} */ label, /** @type {string} */ across) {
  const root = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": label,
    class: "tuning-picture",
  });
  for (const ratio of [0, 0.5, 1, 1.5, 2]) {
    const y = high(ratio);
    root.append(
      svg("line", { x1: LEFT, x2: WIDTH - 8, y1: y, y2: y, class: ratio === 1 ? "tuning-policy" : "tuning-grid" }),
      svg("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, ratio === 2 ? "≥ 2" : String(ratio)),
    );
  }
  root.append(svg("text", { x: WIDTH - 8, y: HEIGHT - 6, "text-anchor": "end" }, across));
  return root;
}

/**
 * Draw the times of candidates relative to the policy's schedule, and the best time so far.
 * @param {TuneTrial[]} trials of one kernel
 */
export function courseOf(trials) {
  const root = frame(word("tuning.course-label", { n: trials.length }), word("tuning.candidate"));
  const n = Math.max(trials.length, 12);
  const at = (/** @type {number} */ i) => LEFT + 8 + ((WIDTH - LEFT - 24) * i) / (n - 1);
  const path = trials.map(({ best }, i) => `${i ? "H" : `M${at(0)}`}${i ? at(i).toFixed(1) : ""}${i ? "V" : ","}${high(best).toFixed(1)}`);
  root.append(svg("path", { d: path.join(" ") || "M0,0", class: "tuning-best" }));
  trials.forEach((trial, i) => root.append(mark(at(i), trial)));
  return root;
}

/** @param {number} x @param {TuneTrial} trial */
function mark(x, trial) {
  const title = svg("title", {}, `${trial.number}: ${outcome(trial)}`);
  if (trial.ratio !== null)
    return svg("circle", { cx: x, cy: high(trial.ratio), r: 3.2, class: "tuning-right" }, title);
  const y = HEIGHT - BOTTOM + 8;
  return svg("path", { d: `M${x - 3},${y - 3}l6,6m0,-6l-6,6`, class: "tuning-bad" }, title);
}

/** @param {TuneTrial} trial */
export function outcome({ outcome: what, ratio, words }) {
  if (ratio !== null) return word("tuning.times", { ratio: ratio.toFixed(2) });
  return words ? `${word(`tuning.${what}`)}: ${words}` : word(`tuning.${what}`);
}

/**
 * Draw the predictions of the learned model against measurements.
 * @param {TuneTrial[]} trials
 */
export function expectedOf(trials) {
  const known = trials.filter(({ expected, ratio }) => expected !== null && ratio !== null);
  const root = frame(word("tuning.expected-label", { n: known.length }), word("tuning.expected"));
  const across = (/** @type {number} */ x) => LEFT + 8 + ((WIDTH - LEFT - 24) * Math.min(x, MOST)) / MOST;
  root.append(
    svg("line", { x1: across(0), y1: high(0), x2: across(MOST), y2: high(MOST), class: "tuning-grid" }),
  );
  for (const trial of known)
    root.append(
      svg(
        "circle",
        { cx: across(trial.expected ?? 0), cy: high(trial.ratio ?? 0), r: 3.2, class: "tuning-right" },
        svg("title", {}, `${trial.number}: ${trial.expected?.toFixed(2)} → ${trial.ratio?.toFixed(2)}`),
      ),
    );
  return { picture: root, n: known.length };
}
