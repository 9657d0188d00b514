// The worker that reads large answers of the server: what is left of the value comes first, then the
// lists that were cut out of it, each a message of its own.
import { cutLists } from "./cuts.js";

/** So many leaves are read by the page in a millisecond or two. */
const MOST_LEAVES = 6000;

self.onmessage = (/** @type {MessageEvent<{id: number, bytes: ArrayBuffer}>} */ { data: { id, bytes } }) => {
  try {
    const whole = JSON.parse(new TextDecoder().decode(bytes));
    const cuts = cutLists(whole, MOST_LEAVES);
    self.postMessage({ id, whole });
    for (const cut of cuts) self.postMessage({ id, cut });
    self.postMessage({ id, done: true });
  } catch (problem) {
    self.postMessage({ id, problem: String(problem) });
  }
};
