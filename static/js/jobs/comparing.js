// Comparisons of two compilations of one model, which a job times together.
import { api } from "../server/api.js";
import { childJob } from "./child_job.js";
import { word } from "../text/words.js";

/**
 * @typedef {import("../wire.js").Comparison} Comparison
 * @typedef {import("../wire.js").ComparedProgram} ComparedProgram
 * @typedef {import("../wire.js").Result} Result
 */

/**
 * Time two compilations together; an equal earlier comparison is reused unless `again` is true.
 * @param {import("../server/work.js").Work} work
 * @param {string} a
 * @param {string} b
 * @param {boolean} again
 * @param {(words: string, share: number) => void} onProgress
 * @returns {{done: Promise<Comparison | null>, cancel: () => void}} null after a cancellation
 */
export function compareRuns(work, a, b, again, onProgress) {
  const job = childJob(() => work.compare(a, { other: b, again }), (name, data) => {
    if (name === "queued") onProgress(word("progress.queued", { n: data.position }), 0);
    else if (name === "phase") onProgress(word(`comparing.${data.phase}`), 0);
    else if (name === "round") onProgress(word("comparing.measure"), data.share);
  });
  return {
    done: job.done.then(({ id, state }) => (state === "succeeded" ? api.comparison(id) : null)),
    cancel: job.cancel,
  };
}

/**
 * Return a result with the times of a comparison; without times if there is no comparison, because times
 * of separate measurements are not comparable.
 * @param {Result} result
 * @param {ComparedProgram | null} program
 * @returns {Result}
 */
export function withComparedTimes(result, program) {
  const of = new Map(program?.kernels.map((each) => [each.kernel, each]));
  const none = { median_s: null, min_s: null, low_s: null, high_s: null };
  return {
    ...result,
    kernels: result.kernels.map((kernel) => {
      const { median_s, min_s, low_s, high_s } = of.get(kernel.kernel) ?? none;
      return { ...kernel, median_s, min_s, low_s, high_s };
    }),
  };
}
