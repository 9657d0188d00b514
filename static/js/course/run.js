// The run of a lesson's blocks as a job of the server, and its results so far.
import { lessonRuns } from "../server/course.js";
import { childJob } from "../jobs/child_job.js";
import { asProblem } from "../jobs/compile.js";

/**
 * @typedef {import("../wire.js").LessonRun} LessonRun
 * @typedef {import("../wire.js").LessonBlock} LessonBlock
 *
 * @typedef {object} RunState
 * @property {"waiting" | "running" | "done" | "failed"} state
 * @property {LessonRun | null} found
 * @property {import("../state/page.js").PageProblem | null} problem
 */

/**
 * Start the run of a lesson; `changed` is called with each new state.
 * @param {string} lesson
 * @param {boolean} reuse whether an earlier run of the same text will do
 * @param {(state: RunState) => void} changed
 */
export function startRun(lesson, reuse, changed) {
  /** @type {RunState} */
  let state = { state: "waiting", found: null, problem: null };
  let asking = false;
  let wanted = false;
  const set = (/** @type {Partial<RunState>} */ more) => changed((state = { ...state, ...more }));

  /** @param {string} id */
  async function take(id) {
    wanted = true;
    if (asking) return;
    asking = true;
    while (wanted) {
      wanted = false;
      try {
        set({ found: await lessonRuns.found(id) });
      } catch {
        // The results may not be stored yet; the end of the job asks again.
      }
    }
    asking = false;
  }

  set({});
  const { done } = childJob(
    () => lessonRuns.start(lesson, reuse),
    (name, _, id) => {
      if (name === "started") set({ state: "running" });
      else if (name === "ready") void take(id);
    },
  );
  done.then(
    async (job) => set({ state: "done", found: await lessonRuns.found(job.id) }),
    (problem) => set({ state: "failed", problem: asProblem(problem) }),
  ).catch((problem) => set({ state: "failed", problem: asProblem(problem) }));
}

/**
 * Return the results of a block by its position in the lesson.
 * @param {LessonRun | null} run
 * @param {number} block
 * @returns {LessonBlock | null}
 */
export const resultsOf = (run, block) => run?.blocks.find((each) => each.block === block) ?? null;
