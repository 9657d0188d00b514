// Reading JSON without keeping the page from answering: what is large is read by a worker, and comes
// back in pieces.
import { putBack } from "./cuts.js";

/** What is shorter is read faster here than it is sent to the worker and back. */
const LARGE_BYTES = 256 * 1024;

/**
 * @typedef {object} Reading
 * @property {any} whole
 * @property {(value: unknown) => void} resolve
 * @property {(problem: Error) => void} reject
 */

/** @type {Worker | null} */
let worker = null;
/** By number of the request. @type {Map<number, Reading>} */
const readings = new Map();
let count = 0;

/**
 * The value that the bytes of a text stand for. Errors: SyntaxError when they are not JSON.
 * @param {ArrayBuffer} bytes UTF-8
 * @returns {Promise<any>}
 */
export async function readJson(bytes) {
  const here = () => JSON.parse(new TextDecoder().decode(bytes));
  if (bytes.byteLength < LARGE_BYTES) return here();
  // Without a worker it takes longer, no more; and what is no JSON there is none here.
  return inWorker(bytes).catch(here);
}

/**
 * @param {ArrayBuffer} bytes
 * @returns {Promise<any>}
 */
function inWorker(bytes) {
  return new Promise((resolve, reject) => {
    const reader = (worker ??= started());
    const id = ++count;
    readings.set(id, { whole: null, resolve, reject });
    reader.postMessage({ id, bytes });
  });
}

/** Errors: whatever keeps a worker from being made. */
function started() {
  const address = document.body.dataset.reader ?? "reader.js";
  const made = new Worker(new URL(address, document.baseURI), { type: "module" });
  made.onmessage = ({ data }) => take(data);
  made.onerror = () => {
    for (const { reject } of readings.values()) reject(new Error("the reader stopped"));
    readings.clear();
    made.terminate();
    worker = null;
  };
  return made;
}

/** @param {{id: number, whole?: any, cut?: import("./cuts.js").Cut, problem?: string}} message */
function take({ id, whole, cut, problem }) {
  const reading = readings.get(id);
  if (!reading) return;
  if (whole !== undefined) reading.whole = whole;
  else if (cut) putBack(reading.whole, cut);
  else {
    readings.delete(id);
    if (problem === undefined) reading.resolve(reading.whole);
    else reading.reject(new SyntaxError(problem));
  }
}
