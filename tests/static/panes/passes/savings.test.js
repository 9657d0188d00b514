import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { isCost, termsOf } from "../../../../static/js/panes/passes/savings.js";

const golden = new URL("../../../golden/wire/", import.meta.url);
const terms = (/** @type {number} */ written, /** @type {number} */ read) =>
  termsOf([{ key: "steps.written", n: written }, { key: "steps.read", n: read }]).map(({ key, n, sign }) => `${sign}${n} ${key.slice(6)}`);

test("traffic is a sum of bytes written and bytes read", () => {
  assert.deepEqual(terms(4096, 4096), ["4096 written", "+4096 read"]);
  assert.deepEqual(terms(4096, 0), ["4096 written"]);
  assert.deepEqual(terms(0, 0), []);
});

test("a negative term follows the positive term", () => {
  assert.deepEqual(terms(-64, 4160), ["4160 read", "−64 written"]);
  assert.deepEqual(terms(-64, -32), ["−64 written", "−32 read"]);
});

test("a rewrite that takes longer by itself has costs", () => {
  const saved = { flops: 0, bytes: 8, bytes_written: 4, bytes_read: 4, seconds: 1e-9 };
  assert.equal(isCost(saved), false);
  assert.equal(isCost({ ...saved, seconds: -1e-9 }), true);
  assert.equal(isCost({ ...saved, seconds: 0, bytes: -8 }), true);
});

test("the terms of every stored step add up", () => {
  let n = 0;
  for (const file of readdirSync(golden).filter((name) => /^stage-\d+-steps/.test(name)))
    for (const { saves } of JSON.parse(readFileSync(new URL(file, golden), "utf8")).steps) {
      if (!saves) continue;
      assert.equal(saves.bytes_written + saves.bytes_read, saves.bytes);
      n += 1;
    }
  assert.ok(n >= 10);
});
