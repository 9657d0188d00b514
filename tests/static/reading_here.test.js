import assert from "node:assert/strict";
import test from "node:test";
import { readAnswer } from "../../static/js/server/reading.js";

/** Workers that stop after their start, like a worker whose script cannot be loaded. */
class Stopping {
  static made = 0;
  onmessage = () => {};
  onerror = () => {};
  constructor() {
    Stopping.made += 1;
  }
  postMessage() {
    setTimeout(() => this.onerror(), 0);
  }
  terminate() {}
}
Object.assign(globalThis, {
  document: { body: { dataset: {} }, baseURI: "http://localhost/" },
  fetch: async (/** @type {string} */ address) => Response.json({ address }),
});

test("without a worker, answers are parsed in the main thread", async () => {
  Object.assign(globalThis, { Worker: undefined });
  assert.deepEqual(await readAnswer("/x"), { status: 200, payload: { address: "/x" } });
});

test("requests of a worker that stops are parsed in the main thread, and the next request starts a new worker", async () => {
  Object.assign(globalThis, { Worker: Stopping });
  const found = await Promise.all([readAnswer("/x"), readAnswer("/y")]);
  assert.deepEqual(found.map(({ payload }) => payload.address), ["/x", "/y"]);
  assert.equal(Stopping.made, 1);
  await readAnswer("/z");
  assert.equal(Stopping.made, 2);
});
