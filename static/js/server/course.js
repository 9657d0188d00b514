// Requests of the pages of the course: runs of lessons, and verdicts on answers.
import { asked, post } from "./api.js";

/** @typedef {import("../wire.js").Job} Job */

export const lessonRuns = {
  /**
   * Run the blocks of a lesson; with `reuse`, return an earlier run of the same text if available.
   * @type {(lesson: string, reuse: boolean) => Promise<Job>}
   */
  start: (lesson, reuse) => post(`/lessons/${encodeURIComponent(lesson)}/runs${reuse ? "?reuse=1" : ""}`, {}),
  /** Return the results so far. @type {(job: string) => Promise<import("../wire.js").LessonRun>} */
  found: (job) => asked(`/jobs/${encodeURIComponent(job)}/lesson`),
};

export const answers = {
  /** @type {(exercise: string, files: Record<string, string>, seed: number) => Promise<Job>} */
  submit: (exercise, files, seed) => post(`/lessons/${exercise}/judgements`, { files, seed }),
  /** @type {(job: string) => Promise<import("../wire.js").Judgement>} */
  verdict: (job) => asked(`/jobs/${encodeURIComponent(job)}/judgement`),
  /** @type {(exercise: string) => Promise<import("../wire.js").LessonSolution>} */
  solution: (exercise) => asked(`/lessons/${exercise}/solution`),
};
