// Tests of the numbers that a reader writes, and of their comparison with results.
import assert from "node:assert/strict";
import test from "node:test";
import { compared, numberIn } from "../../../static/js/course/estimate.js";

test("numbers are read with their units", () => {
  /** @type {[string, number | null][]} */
  const cases = [
    ["12", 12],
    [" 4.5 MB ", 4.5e6],
    ["4,220,000", 4.22e6],
    ["30 %", 0.3],
    ["200us", 200e-6],
    ["-2", -2],
    ["1e3", 1000],
    [".5", 0.5],
    ["2 MiB", 2 * 1024 ** 2],
    ["", null],
    ["many", null],
    ["3 bananas", null],
    ["1 2 x y", null],
  ];
  for (const [text, value] of cases) {
    const found = numberIn(text);
    if (value === null) assert.equal(found, null, text);
    else assert.ok(found !== null && Math.abs(found - value) < 1e-9 * Math.abs(value), `${text}: ${found}`);
  }
});

test("a guess within the tolerance is right, and others have a ratio", () => {
  assert.deepEqual(compared(95, 100, 0.1), { verdict: "right", ratio: 1 });
  assert.deepEqual(compared(50, 100, 0.1), { verdict: "low", ratio: 2 });
  assert.deepEqual(compared(300, 100, 0.1), { verdict: "high", ratio: 3 });
  assert.equal(compared(0, 100, 0.1).verdict, "off");
  assert.equal(compared(0, 0, 0).verdict, "right");
});
