import assert from "node:assert/strict";
import test from "node:test";
import {
  formatBytes,
  formatCount,
  formatDelta,
  formatFlops,
  formatPercent,
  formatSeconds,
} from "../../../static/js/text/format.js";

test("bytes are in powers of 1024", () => {
  assert.deepEqual([0, 1, 1000, 1024, 1536, 67108864, 5e11].map(formatBytes), [
    "0 B",
    "1 B",
    "1,000 B",
    "1 KiB",
    "1.5 KiB",
    "64 MiB",
    "466 GiB",
  ]);
});

test("times are shown in the unit that gives a number below 1000", () => {
  assert.deepEqual([0, 2e-9, 0.00081, 0.0061, 0.9999, 1.31, 75].map(formatSeconds), [
    "0 s",
    "2 ns",
    "810 µs",
    "6.1 ms",
    "1 s",
    "1.31 s",
    "75 s",
  ]);
  assert.equal(formatSeconds(NaN), "–");
});

test("operations use powers of 1000, differences a sign, and fractions percent", () => {
  assert.equal(formatFlops(173408256), "173 Mflop");
  assert.deepEqual([3, -12, 0].map(formatDelta), ["+3", "−12", "±0"]);
  assert.deepEqual([0.9831, 1, 0].map(formatPercent), ["98.3 %", "100 %", "0 %"]);
  assert.deepEqual([0 / 0, 1 / 0].map(formatPercent), ["–", "–"]);
});

test("numbers are formatted as by the browser in English", () => {
  const odd = [0, 1, 12, 999, 1000, 1001, 123456, 1234567, 987654321, 0.5, 0.125, 1234.5, 99999.875, -4321, -0.25];
  const many = Array.from({ length: 300 }, (_, i) => Math.floor(1.09 ** i));
  for (const value of [...odd, ...many.filter((each) => each < 1e15)])
    assert.equal(formatCount(value), value.toLocaleString("en"), String(value));
});
