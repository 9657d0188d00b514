// The button that measures again, its progress, and the conditions of the measured times.
import { bindValue } from "../../state/bindings.js";
import { el, listen, part, partOf } from "../../elements/dom.js";
import { formatPercent, formatSeconds, unbroken } from "../../text/format.js";
import { measureAgain, stopMeasuring } from "../../jobs/measuring.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { showProblem } from "../shell/problem.js";

/**
 * @typedef {import("../../wire.js").Profile} Profile
 * @typedef {{median_s: number, low_s: number, high_s: number}} Measured
 */

/** Threshold of noise: 90th percentile of run times relative to the fastest run, minus 1. */
const NOISY = 0.15;

/**
 * @param {HTMLElement} root element with the parts of templates/_measuring.html
 * @param {import("../../state/page.js").PageState} state
 */
export function mountMeasuring(root, state) {
  const again = partOf(root, "again", HTMLButtonElement);
  const cancel = partOf(root, "measuring-cancel", HTMLButtonElement);
  const seconds = partOf(root, "seconds", HTMLSelectElement);
  const busy = part(root, "measuring-busy");
  const track = part(root, "measuring-track");
  const measure = (/** @type {boolean} */ machine) =>
    measureAgain(state, { seconds: Number(state.get().seconds), machine });
  part(root, "measuring").hidden = state.get().work === null;
  return {
    measure,
    stop: together(
      bindValue(seconds, state, "seconds"),
      listen(again, { click: () => void measure(false) }),
      listen(cancel, {
        click: () => {
          stopMeasuring(state);
          again.focus();
        },
      }),
      state.watch(["measuring", "result"], ({ measuring, result }) => {
        const runs = measuring !== null && measuring.problem === null;
        again.disabled = seconds.disabled = runs || !result?.complete;
        busy.hidden = !runs;
        showProblem(part(root, "problem"), measuring?.problem ?? null);
        if (!runs) return;
        const percent = Math.round(measuring.share * 100);
        track.setAttribute("aria-valuenow", String(percent));
        if (track.firstElementChild instanceof HTMLElement)
          track.firstElementChild.style.width = `${percent}%`;
        part(root, "measuring-words").textContent = measuring.words;
      }),
    ),
  };
}

/**
 * Mount a pane of measurements, which is redrawn after each new measurement.
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {(root: HTMLElement, state: import("../../state/page.js").PageState, profile: Profile) => () => void} show
 * @returns {() => void}
 */
export function mountMeasured(root, state, show) {
  let stopShown = () => {};
  const stop = state.watch(["profile"], (page) => {
    stopShown();
    stopShown = () => {};
    const nothing = nothingMeasured(page);
    if (nothing) root.replaceChildren(nothing);
    else if (page.profile && page.result) stopShown = show(root, state, page.profile);
  });
  return together(stop, () => stopShown());
}

/**
 * Create an element with the reason for missing times; null if there are times.
 * @param {import("../../state/page.js").Page} page
 * @returns {HTMLElement | null}
 */
function nothingMeasured({ result, profile }) {
  if (profile) return null;
  const awaited = result?.state === "running" || (result?.run && result.run.median_s !== null);
  const why = result?.run?.skipped || word("measuring.off");
  const text = awaited ? word("measuring.soon") : word("measuring.none", { why });
  return el("p", { class: "pane-empty" }, text);
}

/** Format a median with its interval: "12.1 us (12.0 – 12.3)". @param {Measured} times */
export function timeWithInterval({ median_s, low_s, high_s }) {
  return word("measured.time", {
    median: formatSeconds(median_s),
    low: formatSeconds(low_s),
    high: formatSeconds(high_s),
  });
}

/** Describe the conditions of a measurement: machine, number of runs, noise. @param {Profile} profile */
export function honestWords({ machine, run, threads, disturbance }) {
  const above = run.slow_s / run.min_s - 1;
  const conditions = word("measured.honest", {
    rounds: word("measured.rounds", { n: run.repeats }),
    machine: machine.name,
    features: machine.features.join(", "),
    threads: word("measured.threads", { n: threads }),
    processors: word("measured.processors", { n: machine.n_processors }),
    noise: word(above > NOISY ? "measured.noisy" : "measured.quiet", { share: formatPercent(above) }),
  });
  return `${conditions} ${unbroken(disturbance.words)}`;
}
