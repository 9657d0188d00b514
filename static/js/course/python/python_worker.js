// A worker with Python as the page sees it: it reports its stages, runs one request, and has a limit of time.

/**
 * @typedef {import("./stages.js").Stage} Stage
 *
 * @typedef {{answer: any} | {problem: string} | {overtime: true}} Result
 *
 * @typedef {object} PythonWorker
 * @property {(request: unknown, seconds: number, onStage: (stage: Stage) => void) => Promise<Result>} run
 *   run one request; the limit counts from the moment Python is ready
 * @property {() => void} terminate
 *
 * @typedef {Pick<Worker, "postMessage" | "terminate" | "onmessage" | "onerror">} WorkerLike
 */

/** The time for loading Python: a slow network, and a slow machine. */
const START_SECONDS = 180;
/** Time after the limit, in which Python itself ends the answer at its line. */
const GRACE_SECONDS = 1;

/**
 * Start a worker.
 * @param {() => WorkerLike} create
 * @returns {PythonWorker}
 */
export function pythonWorker(create, graceSeconds = GRACE_SECONDS) {
  const worker = create();
  /** @type {Stage} */
  let stage = "python";
  let failure = "";
  let count = 0;
  /** @type {{id: number, seconds: number, onStage: (stage: Stage) => void, end: (result: Result) => void, timer: any} | null} */
  let task = null;

  /** @param {Result} result */
  function end(result) {
    const ended = task;
    task = null;
    if (!ended) return;
    clearTimeout(ended.timer);
    ended.end(result);
  }

  /** @param {string} problem */
  function fail(problem) {
    failure = problem;
    end({ problem });
  }

  worker.onmessage = ({ data }) => {
    if (data.failed !== undefined) return fail(data.failed);
    if (data.stage !== undefined) {
      stage = data.stage;
      task?.onStage(stage);
      return;
    }
    if (!task || data.id !== task.id) return;
    if (data.started) {
      clearTimeout(task.timer);
      task.timer = setTimeout(() => end({ overtime: true }), (task.seconds + graceSeconds) * 1000);
    } else if (data.problem !== undefined) fail(data.problem);
    else end({ answer: data.answer });
  };
  worker.onerror = (event) => fail(/** @type {ErrorEvent} */ (event).message || "the worker cannot start");

  return {
    run(request, seconds, onStage) {
      if (failure) return Promise.resolve({ problem: failure });
      onStage(stage);
      return new Promise((resolve) => {
        const timer = setTimeout(() => fail("Python does not start"), START_SECONDS * 1000);
        task = { id: ++count, seconds, onStage, end: resolve, timer };
        worker.postMessage({ id: task.id, request, seconds });
      });
    },
    terminate: () => worker.terminate(),
  };
}
