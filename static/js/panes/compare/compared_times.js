// The measured times of A and B: the progress of the comparison, its verdict and its figures.
import { asProblem } from "../../jobs/compile.js";
import { compareRuns } from "../../jobs/comparing.js";
import { isUndisturbed } from "../../results/disturbance.js";
import { el } from "../../elements/dom.js";
import { formatPercent, formatSeconds } from "../../text/format.js";
import { signedShare } from "../../results/comparison.js";
import { word } from "../../text/words.js";
import { showProblem } from "../shell/problem.js";

/**
 * @typedef {import("../../wire.js").Comparison} Comparison
 * @typedef {import("../../wire.js").Result} Result
 */

/** Half of the width of the axis, as a share, if the interval is short. */
const LEAST_REACH = 0.02;

/**
 * @param {HTMLElement} root
 * @param {import("../../server/work.js").Work} work
 * @param {Result} a
 * @param {Result} b
 * @param {(comparison: Comparison | null) => void} onEnd called after each comparison; null without times
 * @returns {() => void}
 */
export function mountComparedTimes(root, work, a, b, onEnd) {
  let stopped = false;
  let cancel = () => {};

  async function start(/** @type {boolean} */ again) {
    const words = el("span", { role: "status" }, word("comparing.starts"));
    const track = el("progress", { max: 1, value: 0, "aria-label": word("comparing.measure") });
    root.replaceChildren(
      el("p", { class: "compare-run" }, track, words, el("button", { class: "button", type: "button", onclick: () => cancel() }, word("comparing.cancel"))),
    );
    const job = compareRuns(work, a.job, b.job, again, (text, share) => {
      words.textContent = text;
      track.value = share;
    });
    cancel = job.cancel;
    try {
      const found = await job.done;
      if (!stopped) end(found);
    } catch (thrown) {
      if (stopped) return;
      end(null);
      const box = el("div", { class: "problem", role: "alert" });
      showProblem(box, asProblem(thrown));
      root.prepend(box);
    } finally {
      cancel = () => {};
    }
  }

  function end(/** @type {Comparison | null} */ found) {
    const again = el("button", { class: "button", type: "button", onclick: () => void start(true) }, word("comparing.again"));
    root.replaceChildren(...(found ? verdict(found) : [el("p", { class: "muted" }, word("comparing.none"))]), el("p", { class: "compare-run" }, again));
    onEnd(found);
  }

  const skipped = [a, b].map(({ run }) => (run && run.median_s !== null ? "" : run?.skipped || word("measuring.off")));
  const because = skipped.find(Boolean);
  if (because) {
    root.replaceChildren(el("p", { class: "muted" }, word("measuring.none", { why: because })));
    onEnd(null);
  } else void start(false);
  return () => {
    stopped = true;
    cancel();
  };
}

/**
 * Return the verdict in words, the interval as a drawing, the figures, and the conditions.
 * @param {Comparison} found
 */
function verdict(found) {
  const shown = found.verdict === "slower" || found.verdict === "faster" ? distance : signedShare;
  const figures = { share: shown(found.ratio), low: shown(found.low), high: shown(found.high) };
  const trusted = isUndisturbed(found.disturbance);
  return [
    el(
      "div",
      { class: "compare-measured", "data-verdict": found.verdict },
      el("p", {}, el("strong", {}, word(`comparing.${found.verdict}`, figures))),
      axis(found),
      table(found),
      el("p", { class: "muted" }, word(found.is_native ? "comparing.native" : "comparing.whole", { n: found.n_copies, blocks: found.n_blocks })),
      el("p", { class: trusted ? "muted" : "disturbed" }, found.disturbance.words),
    ),
  ];
}

/** Format the distance of a ratio from 1. @param {number} ratio */
const distance = (ratio) => formatPercent(Math.abs(ratio - 1));

/** Draw the interval of the ratio around "equal". @param {Comparison} found */
function axis({ ratio, low, high }) {
  const reach = 1.1 * Math.max(LEAST_REACH, Math.abs(low - 1), Math.abs(high - 1));
  const at = (/** @type {number} */ value) => String((value - 1 + reach) / (2 * reach));
  const bar = el("div", { class: "compare-axis", "aria-hidden": "true" }, el("i", {}), el("b", {}), el("span", {}));
  bar.style.setProperty("--low", at(low));
  bar.style.setProperty("--high", at(high));
  bar.style.setProperty("--value", at(ratio));
  const ends = [signedShare(1 - reach), word("comparing.equal"), signedShare(1 + reach)];
  return el("div", { class: "compare-scale" }, bar, el("div", { class: "compare-ends muted", "aria-hidden": "true" }, ...ends.map((text) => el("span", {}, text))));
}

/** @param {Comparison} found */
function table({ a, b, is_native }) {
  const rows = [
    ...(is_native ? [row("comparing.launches", a.launches_s, b.launches_s)] : []),
    row("comparing.run", a.run.median_s, b.run.median_s),
  ];
  const head = ["", "A", "B", "B − A"].map((text, i) => (i ? el("th", { scope: "col", class: "number" }, text) : el("td", {})));
  const table = el("table", { class: "table" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
  return el("div", { class: "table-wrap", tabIndex: 0, role: "region", "aria-label": word("compare.measured") }, table);
}

/**
 * @param {string} key
 * @param {number} a
 * @param {number} b
 */
function row(key, a, b) {
  const change = `${b < a ? "−" : "+"}${formatSeconds(Math.abs(b - a))} (${signedShare(b / a)})`;
  const cells = [formatSeconds(a), formatSeconds(b), change];
  return el("tr", {}, el("th", { scope: "row" }, word(key)), ...cells.map((text) => el("td", { class: "number" }, text)));
}
