// The jobs about a compilation: which of them a place names, and where nothing can be started, what the
// kept ones have found in place of new ones.
import { ApiError } from "./api.js";
import { word } from "./words.js";

/**
 * @typedef {import("./wire.js").Job} Job
 * @typedef {Pick<import("./work.js").Work, "check" | "place" | "tune" | "targets" | "bisect">} Findings asks for a job about the result
 */

/** Stands in a short link for the id of a job: there was one. */
export const LINKED = "link";

/**
 * The finished job of a kind that a place names, the newest for one that came by a short link.
 * @param {import("./api.js").Parts} parts of the compilation
 * @param {string} kind
 * @param {string} id
 * @returns {Promise<Job | null>} null when its result is no longer kept
 */
export async function jobBeside(parts, kind, id) {
  const { jobs } = await parts.beside();
  return jobs.find((each) => each.kind === kind && (id === LINKED || each.id === id)) ?? null;
}

/**
 * Gives jobs that have found something instead of starting any. Errors: E-RESULT-ABSENT.
 * @param {Job[]} beside the newest first
 * @returns {Findings}
 */
export function keptFindings(beside) {
  /**
   * @param {string} kind
   * @param {...(request: any) => boolean} fits the job that fits the first of these, or else the next
   */
  async function find(kind, ...fits) {
    for (const fit of fits) {
      const job = beside.find((each) => each.kind === kind && fit(each.request));
      if (job) return job;
    }
    throw new ApiError(404, { code: "E-RESULT-ABSENT", message: word("beside.absent") });
  }
  return {
    check: () => find("check", () => true),
    place: (_, { platform, ahead, scheduler }) => {
      // Besides the scheduler that was asked for all quick ones have been tried.
      const same = (/** @type {any} */ r) => r.platform === platform && r.ahead === ahead;
      return find("place", (r) => same(r) && r.scheduler === scheduler, same);
    },
    bisect: () => find("bisect", () => true),
    tune: () => find("tune", () => true),
    targets: (_, kernel) => find("targets", (r) => r.kernel === kernel),
  };
}

/**
 * What kept jobs of a kind were asked for.
 * @param {Job[] | null} beside
 * @param {string} kind
 * @returns {any[]}
 */
export const requestsOf = (beside, kind) =>
  (beside ?? []).filter((each) => each.kind === kind).map(({ request }) => request);
