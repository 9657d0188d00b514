// The worker that asks the server for what may be large, and reads it: what is left of the value comes
// first, then the lists that were cut out of it, each a message of its own.
import { answerTo } from "./answers.js";
import { cutLists } from "./cuts.js";

/** So many leaves are read by the page in a millisecond or two. */
const MOST_LEAVES = 6000;

self.onmessage = async (/** @type {MessageEvent<{id: number, address: string}>} */ { data: { id, address } }) => {
  try {
    const { status, payload } = await answerTo(address);
    const cuts = cutLists(payload, MOST_LEAVES);
    self.postMessage({ id, status, payload });
    for (const cut of cuts) self.postMessage({ id, cut });
    self.postMessage({ id, done: true });
  } catch (problem) {
    self.postMessage({ id, problem: String(problem) });
  }
};
