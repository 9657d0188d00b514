// Reads large answers without blocking the page: a worker requests and parses them, and sends them to
// the page in pieces.
import { answerTo } from "./answers.js";
import { putBack } from "./cuts.js";

/**
 * @typedef {import("./answers.js").Answer} Answer
 *
 * @typedef {object} Reading
 * @property {Answer} answer received so far
 * @property {(answer: Answer) => void} resolve
 * @property {(problem: Error) => void} reject
 *
 * @typedef {{id: number, status?: number, payload?: any, cut?: import("./cuts.js").Cut, problem?: string}} Message
 */

/** Thrown if no worker is available; the page then reads the answer itself, more slowly. */
class NoWorker extends Error {}

/** @type {Worker | null} */
let worker = null;
/** Pending answers by number of the request. @type {Map<number, Reading>} */
const readings = new Map();
let count = 0;

/** Start the worker in advance. */
export function warmReader() {
  try {
    worker ??= started();
  } catch {
    // Requests then work without the worker.
  }
}

/**
 * Request an answer of the server. Errors: TypeError if the server is unreachable.
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

/** Start the worker. Errors: the errors of creating a worker. */
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
