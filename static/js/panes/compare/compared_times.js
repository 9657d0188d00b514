// The measured times of A and B: the progress of the comparison, its verdict and its figures.
import { asProblem } from "../../jobs/compile.js";
import { compareRuns } from "../../jobs/comparing.js";
import { isUndisturbed } from "../../results/disturbance.js";
import { announce, el } from "../../elements/dom.js";
import { formatPercent, unbroken } from "../../text/format.js";
import { word } from "../../text/words.js";
import { axis, timesTable, verdictWords } from "./compared_view.js";
import { showProblem } from "../shell/problem.js";

/**
 * @typedef {import("../../wire.js").Comparison} Comparison
 * @typedef {import("../../wire.js").Result} Result
 */

const NAMES = { a: "A", b: "B" };

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
      if (stopped) return;
      end(found);
      if (again) announce(root.querySelector("strong")?.textContent ?? "");
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
 * Return the words about the differences that count as equal, each with its limit.
 * @param {Pick<Comparison, "is_native" | "equal_share" | "runs">} found
 * @returns {[string, string][]}
 */
export function limits({ is_native: isNative, equal_share: share, runs }) {
  const ofRuns = /** @type {[string, string]} */ (["comparing.run-words", formatPercent(runs.equal_share)]);
  return [["comparing.least", formatPercent(share)], ...(isNative ? [ofRuns] : [])];
}

/**
 * Return the verdict in words, the interval as a drawing, the figures, and the conditions.
 * @param {Comparison} found
 */
function verdict(found) {
  const { a, b, disturbance, is_native: isNative } = found;
  const rows = [
    ...(isNative ? [{ key: "comparing.launches", a: a.launches_s, b: b.launches_s }] : []),
    { key: "comparing.run", a: a.run.median_s, b: b.run.median_s, found: isNative ? found.runs : undefined },
  ];
  const how = word(isNative ? "comparing.native" : "comparing.whole", { n: found.n_copies, blocks: found.n_blocks });
  return [
    el(
      "div",
      { class: "compare-measured", "data-verdict": found.verdict },
      el("p", {}, el("strong", {}, verdictWords(found, NAMES))),
      axis(found),
      timesTable(rows, NAMES),
      el("p", { class: isUndisturbed(disturbance) ? "muted" : "disturbed" }, unbroken(disturbance.words)),
      el(
        "details",
        { class: "about-figures" },
        el("summary", {}, word("comparing.how")),
        el("p", { class: "muted" }, [how, ...limits(found).map(([key, share]) => word(key, { share }))].join(" ")),
      ),
    ),
  ];
}
