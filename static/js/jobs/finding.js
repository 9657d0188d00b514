// Starts, in a view inside this site's own pages, the job whose findings a pane shows. Other read-only views start none.
import { longest, shownKernel } from "../state/selection.js";
import { childJob } from "./child_job.js";
import { queuedWords } from "./waiting.js";

/**
 * @typedef {import("../state/page.js").PageState} PageState
 * @typedef {import("../wire.js").Job} Job
 * @typedef {Pick<import("../server/work.js").Work, "check" | "place" | "targets">} Requests
 */

/** The kinds of jobs that a view starts: each takes seconds. */
export const STARTED = /** @type {const} */ (["check", "place", "targets"]);

/**
 * Request the job of a kind for the state of a view.
 * @param {Requests} requests
 * @param {string} kind one of `STARTED`
 * @param {import("../state/page.js").Page} page
 * @returns {Promise<Job>}
 */
export function requestFinding(requests, kind, page) {
  const { parts, result, platform, scheduler, ahead } = page;
  const id = parts?.id ?? "";
  if (kind === "check") return requests.check(id);
  if (kind === "place") return requests.place(id, { platform, scheduler, ahead: ahead < 0 ? null : ahead });
  const kernels = (result?.kernels ?? []).filter((each) => each.parts.includes("computation"));
  const chosen = shownKernel(result, page);
  const kernel = chosen && kernels.includes(chosen) ? chosen : longest(kernels);
  return requests.targets(id, kernel?.kernel ?? 0);
}

/**
 * Run the job of a kind to its end, and add it to the stored jobs of the view. Errors: ApiError.
 * @param {PageState} state
 * @param {Requests} requests
 * @param {string} kind
 * @param {(words: string) => void} queued receives the words about the queue, "" when the job runs
 */
export async function find(state, requests, kind, queued) {
  const { done } = childJob(
    () => requestFinding(requests, kind, state.get()),
    (name, data) => {
      if (name === "queued" || name === "started") queued(name === "queued" ? queuedWords(data) : "");
    },
  );
  await done;
  const { jobs = [] } = (await state.get().parts?.beside()) ?? {};
  state.set({ beside: jobs });
}
