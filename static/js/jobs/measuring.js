// Measurements of the shown program: by its compilation, and later on request. The kernels of the
// result always have the newest figures.
import { api } from "../server/api.js";
import { LINKED, jobBeside } from "./beside.js";
import { childJob } from "./child_job.js";
import { asProblem } from "./compile.js";
import { queuedWords } from "./waiting.js";
import { word } from "../text/words.js";

/**
 * @typedef {import("../state/page.js").PageState} PageState
 * @typedef {import("../wire.js").Profile} Profile
 * @typedef {import("../wire.js").Result} Result
 */

/** Return the state after the eviction of a measurement: the figures of the compilation remain. */
const GONE = () => ({
  measured: "",
  measuring: { share: 0, words: "", problem: { code: "E-RESULT-ABSENT", message: word("measuring.gone") } },
});

/** Results whose times are those of given inputs, without a profile. @type {WeakSet<Result>} */
const unprofiled = new WeakSet();

/**
 * Return a result with the times of whole runs on given inputs, for a program that random inputs could not time.
 * @param {Result} result
 * @param {import("../wire.js").ProfiledRun} times
 * @param {import("../wire.js").Disturbance | null} disturbance
 * @returns {Result}
 */
export function withGivenTimes(result, times, disturbance) {
  const { median_s, min_s, low_s, high_s, flops_per_s, repeats } = times;
  const measured = { median_s, min_s, low_s, high_s, flops_per_s, repeats, disturbance };
  const run = result.run && { ...result.run, ...measured, skipped: "" };
  const timed = { ...result, run };
  unprofiled.add(timed);
  return timed;
}

/** @type {ReturnType<typeof childJob> | null} the running measurement job */
let running = null;

/**
 * Update `profile` for the shown compilation, or for the measurement named in the URL.
 * @param {PageState} state
 * @returns {() => void}
 */
export function keepProfile(state) {
  /** Resolve a short link to the last measurement, if the server still keeps it. @param {import("../server/api.js").Parts} parts */
  async function named(parts) {
    const find = (/** @type {string} */ kind) => jobBeside(parts, kind, LINKED).catch(() => null);
    const job = (await find("profile")) ?? (await find("run"));
    const { parts: now, measured } = state.get();
    if (now === parts && measured === LINKED) state.set(job ? { measured: job.id } : GONE());
  }
  /** @type {Promise<Profile> | null} */
  let asked = null;
  let askedFor = "";
  return state.watch(["parts", "result", "measured"], async ({ parts, result, measured }) => {
    if (parts && measured === LINKED) return void named(parts);
    const id = measured || parts?.id;
    if (!parts || !id || !result) return;
    if (!measured && (result.run?.median_s == null || unprofiled.has(result))) return;
    if (id !== askedFor) [asked, askedFor] = [api.profile(id), id];
    try {
      const profile = await asked;
      const now = state.get();
      if (!profile || now.parts !== parts || askedFor !== id || !now.result) return;
      if (profile.kernels.some((each) => !now.result?.kernels[each.kernel]))
        return state.set({ measured: "" }); // the measurement is of another program
      const given = measured ? withFigures(now.result, profile) : now.result;
      if (now.profile !== profile || given !== now.result) state.set({ profile, result: given });
    } catch (problem) {
      if (askedFor !== id) return;
      askedFor = "";
      if (measured) state.set(GONE());
      else if (state.get().parts === parts) state.set({ problem: asProblem(problem) });
    }
  });
}

/**
 * Return the result with new figures of its run and kernels; the same object if the figures are equal.
 * @param {Result} result
 * @param {Profile} profile
 * @returns {Result}
 */
export function withFigures(result, { run, kernels, disturbance }) {
  const of = new Map(kernels.map((each) => [each.kernel, each]));
  if (result.run?.median_s === run.median_s && result.run.repeats === run.repeats) return result;
  return {
    ...result,
    run: result.run && {
      ...result.run,
      median_s: run.median_s,
      min_s: run.min_s,
      low_s: run.low_s,
      high_s: run.high_s,
      flops_per_s: run.flops_per_s,
      repeats: run.repeats,
      disturbance,
      skipped: "",
    },
    kernels: result.kernels.map((kernel) => {
      const times = of.get(kernel.kernel);
      if (!times) return kernel;
      const { median_s, min_s, low_s, high_s, flops_per_s } = times;
      const gflops = flops_per_s === null ? null : flops_per_s / 1e9;
      const gbytes_per_s = (kernel.bytes_read + kernel.bytes_written) / median_s / 1e9;
      return { ...kernel, median_s, min_s, low_s, high_s, gflops, gbytes_per_s };
    }),
  };
}

/**
 * Measure again; `measuring` in the state holds the progress.
 * @param {PageState} state
 * @param {import("../wire.js").ProfileOptions} options
 */
export async function measureAgain(state, options) {
  const { parts, measuring, work } = state.get();
  if (!parts || measuring || !work) return;
  const is = (/** @type {Partial<import("../state/page.js").Measuring>} */ patch) => {
    const now = state.get();
    if (now.parts === parts && now.measuring)
      state.set({ measuring: { ...now.measuring, ...patch } });
  };
  state.set({ measuring: { share: 0, words: word("measuring.starts"), problem: null } });
  try {
    running = childJob(() => work.measure(parts.id, options), (name, data) => {
      if (name === "queued") is({ words: queuedWords(data) });
      else if (name === "phase") is({ words: word(`measuring.${data.phase}`) });
      else if (name === "round")
        is({ share: data.share, words: word("measuring.round", { n: data.done }) });
    });
    const job = await running.done;
    if (state.get().parts !== parts) return;
    state.set({ measuring: null, ...(job.state === "succeeded" ? { measured: job.id } : {}) });
  } catch (problem) {
    if (state.get().parts !== parts) return;
    state.set({ measuring: { share: 0, words: "", problem: asProblem(problem) } });
  } finally {
    running = null;
  }
}

/** Cancel the running measurement; earlier figures stay. @param {PageState} state */
export function stopMeasuring(state) {
  state.set({ measuring: null });
  running?.cancel();
}
