// The worker that requests and parses large answers. The worker first posts the value without its long lists,
// and then the items of each list in separate messages.
import { answerTo } from "./answers.js";
import { cutLists } from "./cuts.js";

/** Maximum number of leaves per message; the page reads such a message in 1 to 2 ms. */
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
