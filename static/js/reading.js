// Answers that may be large, read without keeping the page from answering: a worker asks for them and
// reads them, and they come back in pieces. Even what the browser does with their bytes is done there.
import { answerTo } from "./answers.js";
import { putBack } from "./cuts.js";

/**
 * @typedef {import("./answers.js").Answer} Answer
 *
 * @typedef {object} Reading
 * @property {Answer} answer as far as it is there
 * @property {(answer: Answer) => void} resolve
 * @property {(problem: Error) => void} reject
 *
 * @typedef {{id: number, status?: number, payload?: any, cut?: import("./cuts.js").Cut, problem?: string}} Message
 */

/** Without a worker it takes longer, no more. */
class NoWorker extends Error {}

/** @type {Worker | null} */
let worker = null;
/** By number of the request. @type {Map<number, Reading>} */
const readings = new Map();
let count = 0;

/** Has the worker started, for what will be asked for soon. */
export function warmReader() {
  try {
    worker ??= started();
  } catch {
    // What is asked for is read without it.
  }
}

/**
 * Errors: TypeError when the server is not reached.
 * @param {string} address
 * @returns {Promise<Answer>}
 */
export async function readAnswer(address) {
  try {
    return await inWorker(address);
  } catch (problem) {
    if (problem instanceof NoWorker) return answerTo(address);
    throw problem;
  }
}

/**
 * @param {string} address
 * @returns {Promise<Answer>}
 */
function inWorker(address) {
  return new Promise((resolve, reject) => {
    warmReader();
    if (!worker) return reject(new NoWorker());
    const id = ++count;
    readings.set(id, { answer: { status: 0, payload: undefined }, resolve, reject });
    worker.postMessage({ id, address });
  });
}

/** Errors: whatever keeps a worker from being made. */
function started() {
  const address = document.body.dataset.reader ?? "reader.js";
  const made = new Worker(new URL(address, document.baseURI), { type: "module" });
  made.onmessage = ({ data }) => take(data);
  made.onerror = () => {
    for (const { reject } of readings.values()) reject(new NoWorker());
    readings.clear();
    made.terminate();
    worker = null;
  };
  return made;
}

/** @param {Message} message */
function take({ id, status, payload, cut, problem }) {
  const reading = readings.get(id);
  if (!reading) return;
  if (status !== undefined) reading.answer = { status, payload };
  else if (cut) putBack(reading.answer.payload, cut);
  else {
    readings.delete(id);
    if (problem === undefined) reading.resolve(reading.answer);
    else reading.reject(new TypeError(problem));
  }
}
