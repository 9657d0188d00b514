import assert from "node:assert/strict";
import test from "node:test";
import { readAnswer } from "../../../static/js/server/reading.js";

/** What the server says, by address. @type {Record<string, () => Response>} */
const answers = {};
const asked = /** @type {string[]} */ ([]);
/** @param {string} address */
async function answer(address) {
  asked.push(address);
  if (!answers[address]) throw new TypeError("away");
  return answers[address]();
}
Object.assign(globalThis, {
  document: { body: { dataset: { reader: "/reader.js" } }, baseURI: "http://localhost/" },
  fetch: answer,
});

/** What the reader has said. @type {any[]} */
let messages = [];
/** The end of the page. */
let page = { onmessage: (/** @type {{data: any}} */ _event) => {} };
const self = {
  onmessage: (/** @type {{data: any}} */ _event) => {},
  postMessage: (/** @type {any} */ message) => {
    messages.push(message);
    page.onmessage({ data: structuredClone(message) });
  },
};
Object.assign(globalThis, { self });
await import("../../../static/js/server/reader.js");

/** The reader in this thread; messages in both directions are copied as between threads. */
class Reader {
  onmessage = (/** @type {{data: any}} */ _event) => {};
  constructor() {
    page = this;
  }

  /** @param {any} data */
  postMessage(data) {
    self.onmessage({ data: structuredClone(data) });
  }
}
Object.assign(globalThis, { Worker: Reader });

test("a large answer arrives unchanged in several pieces", async () => {
  const nodes = Array.from({ length: 4000 }, (_, i) => ({ id: `n${i}`, types: ["f32[1,64]"], inputs: [`n${i - 1}`] }));
  const whole = { name: "large", nodes, edges: nodes.map(({ id }, i) => [id, i]) };
  answers["/large"] = () => Response.json(whole);
  messages = [];
  assert.deepEqual(await readAnswer("/large"), { status: 200, payload: whole });
  const sizes = messages.map((each) => JSON.stringify(each).length);
  assert.ok(sizes.length > 4, `${sizes.length} messages`);
  assert.ok(Math.max(...sizes) < JSON.stringify(whole).length / 3);
});

test("concurrent answers are not mixed up", async () => {
  for (const name of ["a", "b", "c"]) answers[`/${name}`] = () => Response.json({ name, list: Array(9000).fill(name) });
  const found = await Promise.all(["/a", "/b", "/c"].map(readAnswer));
  assert.deepEqual(
    found.map(({ payload }) => [payload.name, new Set(payload.list)]),
    ["a", "b", "c"].map((name) => [name, new Set([name])]),
  );
});

test("an error answer keeps its status, and an answer without JSON is recognised", async () => {
  answers["/error"] = () => Response.json({ error: { code: "E-X" } }, { status: 404 });
  answers["/page"] = () => new Response("<p>", { status: 502 });
  answers["/nothing"] = () => Response.json(null);
  assert.deepEqual(await readAnswer("/error"), { status: 404, payload: { error: { code: "E-X" } } });
  assert.deepEqual(await readAnswer("/page"), { status: 502, payload: undefined });
  assert.deepEqual(await readAnswer("/nothing"), { status: 200, payload: null });
});

test("an unreachable server is an error, and the request is not repeated", async () => {
  asked.length = 0;
  await assert.rejects(readAnswer("/away"), TypeError);
  assert.deepEqual(asked, ["/away"]);
});
