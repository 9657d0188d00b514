import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import {
  atMost,
  formatBytes,
  formatCount,
  formatDelta,
  formatError,
  formatFlops,
  formatPercent,
  formatRate,
  formatRatio,
  formatSeconds,
  unbroken,
} from "../../../static/js/text/format.js";

const SAMPLES = JSON.parse(readFileSync(new URL("../../samples/quantities.json", import.meta.url), "utf8"));
const FORMATS = {
  bytes: formatBytes,
  seconds: formatSeconds,
  flops: formatFlops,
  rates: formatRate,
  shares: formatPercent,
  ratios: formatRatio,
  counts: formatCount,
  errors: formatError,
};

for (const [kind, format] of Object.entries(FORMATS)) {
  test(`${kind} have the texts of the samples`, () => {
    /** @type {[number, string][]} */
    const samples = SAMPLES[kind];
    // A line never breaks between a number and its unit.
    const unbroken = samples.map(([value, text]) => [value, text.replace(" ", "\u00a0")]);
    assert.deepEqual(samples.map(([value]) => [value, format(value)]), unbroken);
  });
}

test("a time that is not finite has no number", () => {
  assert.equal(formatSeconds(NaN), "–");
});

test("differences have a sign, and fractions are percentages", () => {
  assert.deepEqual([3, -12, 0].map(formatDelta), ["+3", "−12", "±0"]);
  assert.deepEqual([0.9831, 1, 0].map(formatPercent), ["98.3\u00a0%", "100\u00a0%", "0\u00a0%"]);
  assert.deepEqual([0 / 0, 1 / 0].map(formatPercent), ["–", "–"]);
});

test("texts of the compiler keep their numbers with their units, and break before other words", () => {
  const text = "5 ns, 1.5 Gflop/s, 8,192 B, 12.3 % of 3 steps, 2 B/s, 4 bytes";
  const kept = "5_ns, 1.5_Gflop/s, 8,192_B, 12.3_% of 3 steps, 2 B/s, 4 bytes";
  assert.equal(unbroken(text).replaceAll("\u00a0", "_"), kept);
});

test("numbers are formatted as by the browser in English", () => {
  const odd = [0, 1, 12, 999, 1000, 1001, 123456, 1234567, 987654321, 0.5, 0.125, 1234.5, 99999.875, -4321, -0.25];
  const many = Array.from({ length: 300 }, (_, i) => Math.floor(1.09 ** i));
  for (const value of [...odd, ...many.filter((each) => each < 1e15)])
    assert.equal(formatCount(value), value.toLocaleString("en"), String(value));
});

test("errors are written with a power of ten", () => {
  assert.deepEqual(
    [2.13e-7, 2e-7, 0, 0.25, 1, 12, null].map((error) => formatError(error)),
    ["2.1e-7", "2e-7", "0", "2.5e-1", "1", "1.2e1", "∞"],
  );
});

test("a rounded bound is not below the error, and an error of one digit is unchanged", () => {
  assert.deepEqual([2.13e-7, 2e-7, 9.6e-5, 3e-2, 0].map(atMost), ["3e-7", "2e-7", "1e-4", "3e-2", "0"]);
});
