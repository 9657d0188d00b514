// Judges answers in the page, with Python in a worker that is loaded for the first answer.
//
// Python stops an answer that does not end. If that does not help, the worker is terminated, and the next worker
// starts in the background.
import { pythonWorker } from "./python_worker.js";

/**
 * @typedef {import("./python_worker.js").PythonWorker} PythonWorker
 * @typedef {import("./stages.js").Stage} Stage
 * @typedef {{exercise: unknown, files: Record<string, string>, seed?: number, version?: number}} Request
 * @typedef {{seconds?: number, onStage?: (stage: Stage) => void}} Options
 *
 * @typedef {object} Judge
 * @property {(request: Request, options?: Options) => Promise<any>} judge
 * @property {() => void} warm start Python in advance
 */

export const SECONDS = 30;

/** Thrown if the page cannot judge an answer: then the server judges it. */
export class NoPython extends Error {}

/**
 * Make a judge. It judges one answer after the other.
 * @param {() => Promise<boolean>} isAvailable tells whether the server has Python for the page
 * @param {() => PythonWorker} startWorker
 * @returns {Judge}
 */
export function createJudge(isAvailable, startWorker) {
  /** @type {PythonWorker | null} */
  let worker = null;
  /** @type {Promise<boolean> | null} */
  let available = null;
  /** @type {Promise<unknown>} */
  let previous = Promise.resolve();

  async function needed() {
    available ??= isAvailable().catch(() => false);
    if (!(await available)) throw new NoPython("the server has no Python for the page");
    return (worker ??= startWorker());
  }

  function discard() {
    worker?.terminate();
    worker = null;
  }

  /** @param {Request} request @param {Options} options */
  async function judgeNow(request, { seconds = SECONDS, onStage = () => {} }) {
    const used = await needed();
    const result = await used.run(request, seconds, onStage);
    if ("problem" in result) {
      discard();
      throw new NoPython(result.problem);
    }
    if ("overtime" in result) {
      discard();
      worker = startWorker();
      return overtime(seconds);
    }
    if ("server" in result.answer) throw new NoPython(result.answer.server);
    return result.answer;
  }

  return {
    judge(request, options = {}) {
      const answer = previous.then(() => judgeNow(request, options));
      previous = answer.catch(() => {});
      return answer;
    },
    warm: () => void needed().catch(() => {}),
  };
}

/**
 * Return the answer of a judgement that was stopped, as the server returns it.
 * @param {number} seconds
 */
function overtime(seconds) {
  const where = { source: "solution.py", line: 0, column: 0, length: 0, node: "" };
  const message = `the answer took more than ${seconds} s`;
  const error = { code: "E-LIMIT-SECONDS", message, where, notes: [], hint: "look for a loop that does not end" };
  return { version: 1, verdict: "timeout", tests: [], scores: [], output: "", error };
}

/** Ask whether the server has Python for the page. */
async function hasPython() {
  const answer = await fetch(new URL("python/python.json", workerUrl()));
  return answer.ok && (await answer.json()).available === true;
}

/** The URL of the worker. */
function workerUrl() {
  return new URL(document.body.dataset.python ?? "/static/dist/python.js", document.baseURI);
}

const shared = createJudge(hasPython, () => pythonWorker(() => new Worker(workerUrl(), { type: "module" })));

/**
 * Judge an answer with Python in this page. Errors: NoPython if the page cannot; then the server judges it.
 * @param {Request} request
 * @param {Options} [options] `seconds` limits the judgement, without the start of Python
 * @returns {Promise<any>} the answer of the protocol in docs/lessons.md
 */
export function judgeInPage(request, options) {
  return shared.judge(request, options);
}

/** Start Python in advance, for a reader who opens an exercise. */
export function warmPython() {
  shared.warm();
}
