import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { estimated, isCost, termsOf } from "../../../../static/js/panes/passes/savings.js";

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
  const saved = { flops: 0, bytes: 8, bytes_written: 4, bytes_read: 4, seconds: 1e-9, supplied_by: /** @type {const} */ ("L1") };
  assert.equal(isCost(saved), false);
  assert.equal(isCost({ ...saved, seconds: -1e-9 }), true);
  assert.equal(isCost({ ...saved, seconds: 0, bytes: -8 }), true);
});

test("only an estimate for values in DRAM is conditional", () => {
  assert.deepEqual(estimated({ seconds: -5e-6, supplied_by: "L2" }), ["steps.estimated", { time: "5\u00a0us", level: "L2" }]);
  assert.equal(estimated({ seconds: 5e-6, supplied_by: "DRAM" })[0], "steps.estimated-dram");
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
