// All requests that start jobs on the server. The state of the page contains these requests; the state of read-only
// views (embed.js, report.js) contains null instead, so their panes start no jobs.
import { post } from "./api.js";

/**
 * @typedef {import("../wire.js").Job} Job
 * @typedef {typeof work} Work
 */

export const work = {
  /**
   * Start a compile or inspect job; with `reuse`, return an earlier job with the same request if available.
   * @type {(request: import("../wire.js").JobRequest, reuse?: boolean) => Promise<Job>}
   */
  submit: (request, reuse = false) => post(reuse ? "/jobs?reuse=1" : "/jobs", request),
  /** @type {(job: string, options: import("../wire.js").PlaceOptions) => Promise<Job>} */
  place: (job, options) => post(`${of(job)}/placements`, options),
  /** @type {(job: string, options: import("../wire.js").TuneOptions) => Promise<Job>} */
  tune: (job, options) => post(`${of(job)}/tuning`, options),
  /** @type {(id: string) => Promise<Job>} */
  stopTuning: (id) => post(`${of(id)}/tuning/stop`, {}),
  /** @type {(job: string, kernel: number) => Promise<Job>} */
  targets: (job, kernel) => post(`${of(job)}/targets`, { kernel }),
  /** @type {(job: string, kernel: number, text: string) => Promise<import("../wire.js").CheckedSchedule>} */
  checkSchedule: (job, kernel, text) =>
    post(`${of(job)}/kernels/${kernel}/schedule/check`, { text }),
  /** @type {(job: string, kernel: number, text: string) => Promise<Job>} */
  runSchedule: (job, kernel, text) =>
    post(`${of(job)}/schedules`, { kernel, text }),
  /** @type {(job: string, stage: number, fused: boolean) => Promise<Job>} */
  exportStage: (job, stage, fused) => post(`${of(job)}/stages/${stage}/onnx`, { fused }),
  /** @type {(job: string) => Promise<Job>} */
  check: (job) => post(`${of(job)}/numerics`, {}),
  /** @type {(job: string, options: import("../wire.js").BisectOptions) => Promise<Job>} */
  bisect: (job, options) => post(`${of(job)}/bisect`, options),
  /** @type {(job: string, options: import("../wire.js").RunOptions) => Promise<Job>} */
  run: (job, options) => post(`${of(job)}/run`, options),
  /** @type {(job: string, options: import("../wire.js").ProfileOptions) => Promise<Job>} */
  measure: (job, options) => post(`${of(job)}/profile`, options),
  /** @type {(job: string, options: import("../wire.js").ComparisonOptions) => Promise<Job>} */
  compare: (job, options) => post(`${of(job)}/comparison`, options),
  /** @type {(job: string, options: import("../wire.js").PeerOptions) => Promise<Job>} */
  comparePeer: (job, options) => post(`${of(job)}/peer`, options),
};

/** @param {string} job */
function of(job) {
  return `/jobs/${encodeURIComponent(job)}`;
}
