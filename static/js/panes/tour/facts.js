// The facts of the tour that other requests fetch: the steps of the fusing pass, the texts of a kernel, and
// the same compilation without fusion, if the page compares with one.
import { createParts, follow } from "../../server/api.js";
import { longest } from "../../state/selection.js";
import { together } from "../../state/state.js";
import { panesOf } from "../index.js";
import { fusingStage, isUnfused } from "./fusion_stop.js";

/**
 * @typedef {import("../../state/page.js").PageState} PageState
 * @typedef {import("./stops.js").Facts} Facts
 * @typedef {Pick<Facts, "steps" | "loops" | "asm" | "unfused">} Fetched
 */

/** The same page size as in the pane of steps, to share cached answers. */
const STEPS_ASKED = 5000;

/** The events after which nothing more arrives. */
const ENDS = ["finished", "failed", "cancelled", "lost"];

/** @type {Fetched} */
const NOTHING_YET = { steps: null, loops: null, asm: null, unfused: null };

/**
 * Fetch the facts while the tour is open, and call `tell` with each new version of them.
 * @param {PageState} state
 * @param {(facts: Facts) => void} tell
 * @returns {() => void}
 */
export function watchFacts(state, tell) {
  let fetched = NOTHING_YET;
  let request = 0;
  let unfollow = () => {};
  let compiles = false;

  function report() {
    const { result, pipelines, compared, other } = state.get();
    if (!result) return;
    const comparison = fetched.unfused && compared?.other === other ? compared : null;
    const panes = panesOf(state.get()).map(({ id }) => id);
    tell({ result, precisions: pipelines?.precisions ?? [], panes, comparison, compiles, ...fetched });
  }

  /** @template {keyof Fetched} K @param {K} key @param {Promise<NonNullable<Fetched[K]>> | undefined} answer */
  async function fetchPart(key, answer) {
    const number = request;
    const found = await answer?.catch(() => null);
    if (!found || number !== request) return;
    fetched = { ...fetched, [key]: found };
    report();
  }

  function load() {
    const { result, parts, tour } = state.get();
    request += 1;
    fetched = { ...NOTHING_YET, unfused: fetched.unfused };
    report();
    if (!result || !parts || tour === 0) return;
    const stage = fusingStage(result);
    if (stage && stage.n_applied + stage.n_declined > 0)
      void fetchPart("steps", parts.steps(stage.stage, 0, STEPS_ASKED));
    const kernel = longest(result.kernels);
    for (const part of /** @type {const} */ (["loops", "asm"]))
      if (kernel?.parts.includes(part)) void fetchPart(part, parts.kernel(kernel.kernel, part));
  }

  /** Fetch the compared compilation once it has ended, if it differs by fusion alone. */
  function compare() {
    const { other, job, work, result } = state.get();
    unfollow();
    fetched = { ...fetched, unfused: null };
    compiles = false;
    // Read-only views have no answers about other jobs.
    if (!other || other === job || !work || !result?.complete) return report();
    compiles = true;
    report();
    unfollow = follow(other, async (name) => {
      if (!ENDS.includes(name)) return;
      const found = name === "finished" ? await createParts(other).result().catch(() => null) : null;
      const a = state.get().result;
      if (state.get().other !== other) return;
      compiles = false;
      if (found && a && isUnfused(a, found)) fetched = { ...fetched, unfused: found };
      report();
    });
  }

  return together(
    state.watch(["result", "parts", "ready", "tour"], load),
    state.watch(["other", "result"], () => state.get().tour > 0 && compare()),
    state.watch(["pipelines", "compared"], report),
    () => (request += 1),
    () => unfollow(),
  );
}
