// The worker that requests and parses large answers. It posts the value without its long lists
// first, then the items of each list in separate messages.
import { answerTo } from "./answers.js";
import { cutLists } from "./cuts.js";

/** Leaves per message, which the page reads in 1 to 2 ms. */
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
