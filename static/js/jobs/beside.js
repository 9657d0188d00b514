// Jobs related to a compilation: the job that a link names, and in read-only views the stored jobs,
// which replace new jobs.
import { ApiError } from "../server/api.js";
import { word } from "../text/words.js";

/**
 * @typedef {import("../wire.js").Job} Job
 * @typedef {Pick<import("../server/work.js").Work, "check" | "place" | "tune" | "targets" | "bisect">} Findings requests a job about the result
 */

/** Placeholder for a job's id in a short link. */
export const LINKED = "link";

/**
 * Return the finished job that a link names; for a short link, the newest job of the same kind.
 * @param {import("../server/api.js").Parts} parts of the compilation
 * @param {string} kind
 * @param {string} id
 * @returns {Promise<Job | null>} null if the result of the job was evicted
 */
export async function jobBeside(parts, kind, id) {
  const { jobs } = await parts.beside();
  return jobs.find((each) => each.kind === kind && (id === LINKED || each.id === id)) ?? null;
}

/**
 * Answer requests with stored jobs instead of starting new jobs. Errors: E-RESULT-ABSENT.
 * @param {Job[]} beside the newest first
 * @returns {Findings}
 */
export function keptFindings(beside) {
  /**
   * @param {string} kind
   * @param {...(request: any) => boolean} fits predicates in order of preference
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
      // A placement job always runs all quick schedulers, in addition to the requested scheduler.
      const same = (/** @type {any} */ r) => r.platform === platform && r.ahead === ahead;
      return find("place", (r) => same(r) && r.scheduler === scheduler, same);
    },
    bisect: () => find("bisect", () => true),
    tune: () => find("tune", () => true),
    targets: (_, kernel) => find("targets", (r) => r.kernel === kernel),
  };
}

/**
 * Return the requests of the stored jobs of a kind.
 * @param {Job[] | null} beside
 * @param {string} kind
 * @returns {any[]}
 */
export const requestsOf = (beside, kind) =>
  (beside ?? []).filter((each) => each.kind === kind).map(({ request }) => request);
