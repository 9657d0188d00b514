// The state of the page: the shareable state from the URL, and the answers of the server for this state.
import { START } from "./url.js";

/**
 * A problem found by the server or by the page; problems found by the page have no position.
 * @typedef {Pick<import("../wire.js").Problem, "code" | "message"> & Partial<import("../wire.js").Problem>} PageProblem
 */

/**
 * @typedef {object} Progress
 * @property {string} state "" if nothing runs; otherwise the state of a job, or "uploading" or "sending"
 * @property {string} words
 * @property {number} share between 0 and 1
 * @property {import("../wire.js").PassEvent[]} passes passes that have ended
 *
 * @typedef {object} Checking
 * @property {"" | "running" | "done" | "failed" | "cancelled" | "gone"} state "gone": the linked check was evicted
 * @property {string} words current activity
 * @property {import("../wire.js").Numerics | null} found findings so far
 * @property {PageProblem | null} problem
 *
 * @typedef {{share: number, words: string, problem: PageProblem | null}} Measuring
 *
 * @typedef {object} Data
 * @property {import("../server/work.js").Work | null} work requests to the server; null in read-only views
 * @property {import("../wire.js").Job[]} beside in read-only views: the jobs whose findings are present
 * @property {import("../wire.js").About | null} about
 * @property {import("../wire.js").Sample[] | null} samples
 * @property {import("../wire.js").Pipelines | null} pipelines
 * @property {Map<string, import("../wire.js").OperatorInfo>} operators
 * @property {import("../wire.js").Upload | null} upload
 * @property {import("../wire.js").Result | null} inspected facts about the chosen model before compiling
 * @property {import("../text/writing.js").Reading | null} reading check of the model in the editor
 * @property {Progress} progress
 * @property {PageProblem | null} problem
 * @property {import("../wire.js").Comparison | null} compared the last comparison of this result with another
 * @property {boolean} trial whether the pane Compare runs the edited pipeline of B at once
 * @property {number} partial number of available stages of a failed job
 * @property {import("../server/api.js").Parts | null} parts
 * @property {import("../wire.js").Result | null} result
 * @property {string[]} ready parts that a running job has announced: "code", "measure", "listing" ...
 * @property {import("../wire.js").StageGraph | null} graph graph of the stage
 * @property {import("../wire.js").StageGraph | null} before graph of the previous stage, or of the base
 * @property {import("../wire.js").Provenance | null} provenance
 * @property {import("../wire.js").Neighbours | null} neighbours
 * @property {Checking} numerics the check of the numbers
 * @property {import("../wire.js").CheckedValues | null} values checked values of the stage
 * @property {import("../wire.js").Placement | null} placement last placement of the kernels
 * @property {import("../wire.js").Profile | null} profile measurements of the run
 * @property {Measuring | null} measuring progress of a measurement; null if none runs
 * @property {boolean} invited whether the reader is invited to the tour
 * @property {string[]} preview ONNX nodes under the pointer in another pane
 * @property {import("./url.js").Place | null} left the view of the result that the user left for the start screen
 * @property {string[]} boxed operands and results of the opened step
 *
 * @typedef {import("./url.js").Place & Data} Page
 * @typedef {import("./state.js").State<Page>} PageState
 */

/** @type {Progress} */
export const IDLE = { state: "", words: "", share: 0, passes: [] };

/** @type {Checking} */
export const NOT_CHECKED = { state: "", words: "", found: null, problem: null };

/** State that a new job resets. */
export const NO_RESULT = {
  parts: null,
  result: null,
  ready: /** @type {string[]} */ ([]),
  graph: null,
  before: null,
  provenance: null,
  neighbours: null,
  numerics: NOT_CHECKED,
  values: null,
  placement: null,
  profile: null,
  measuring: null,
  preview: /** @type {string[]} */ ([]),
  boxed: /** @type {string[]} */ ([]),
};

/** @type {Page} */
export const EMPTY = {
  ...START,
  work: null,
  beside: [],
  about: null,
  samples: null,
  pipelines: null,
  operators: new Map(),
  upload: null,
  inspected: null,
  reading: null,
  progress: IDLE,
  problem: null,
  trial: false,
  compared: null,
  partial: 0,
  left: null,
  invited: false,
  ...NO_RESULT,
};
