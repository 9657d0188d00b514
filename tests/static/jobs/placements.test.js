// Tests of placement jobs with several waiting callers: one job serves all, and ends with the last.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { createPlacements } from "../../../static/js/jobs/placements.js";

/** @type {string[]} what the server was asked for */
let asked = [];
Object.assign(globalThis, {
  Worker: undefined,
  document: { body: { dataset: {} }, baseURI: "http://localhost/" },
  EventSource: class {
    addEventListener() {}
    close() {}
  },
  fetch: async (/** @type {string} */ address, { method = "GET" } = {}) => {
    asked.push(`${method} ${address.slice(address.indexOf("/jobs"))}`);
    return Response.json({ rows: [] });
  },
});
beforeEach(() => (asked = []));

const ITERATED = { platform: "gpu", scheduler: "iterated", ahead: null };
const EXACT = { ...ITERATED, scheduler: "cp_sat" };

/** A server whose placement jobs have ids that end in the number of the request. */
function server() {
  const started = /** @type {any[]} */ ([]);
  const findings = /** @type {any} */ ({
    place: async (/** @type {string} */ job, /** @type {any} */ options) => {
      started.push(options);
      return { id: `${job}-${started.length}`, state: "running" };
    },
  });
  return { started, findings };
}
/** Waits until all pending promise callbacks have run. */
const settled = () => new Promise((resolve) => setImmediate(resolve));
const cancelled = () => asked.filter((each) => /\bDELETE|cancel/.test(each));

test("the pane and the colours share a job, which continues until both stop waiting", async () => {
  const { started, findings } = server();
  const colours = createPlacements("a", findings);
  const pane = createPlacements("a", findings);
  assert.equal(colours.place(ITERATED, true), pane.place(ITERATED, true));
  await settled();
  assert.deepEqual(started, [ITERATED]);
  pane.stop();
  await settled();
  assert.deepEqual(cancelled(), []);
  colours.stop();
  await settled();
  assert.equal(cancelled().length, 1);
  const again = createPlacements("a", findings);
  again.place(ITERATED, true);
  assert.equal(started.length, 2, "a finished job is requested again");
  again.stop();
  await settled();
});

test("all quick schedulers share a job, and a scheduler that searches has a separate job", async () => {
  const { started, findings } = server();
  const [colours, pane] = [createPlacements("b", findings), createPlacements("b", findings)];
  const first = colours.place(ITERATED, true);
  assert.equal(pane.place({ ...ITERATED, scheduler: "heft" }, true), first);
  assert.notEqual(pane.place(EXACT, false), first);
  assert.notEqual(createPlacements("c", findings).place(ITERATED, true), first, "another model");
  assert.equal(started.length, 3);
});

test("a cancelled job is cancelled for every view that waits for it", async () => {
  const { findings } = server();
  const [colours, pane] = [createPlacements("d", findings), createPlacements("d", findings)];
  const placing = colours.place(ITERATED, true);
  pane.place(ITERATED, true);
  await settled();
  pane.cancel();
  await settled();
  assert.equal(cancelled().length, 1);
  assert.notEqual(colours.place(ITERATED, true), placing);
});
