import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { axisOf, isQuick, shareOf, shownStages, ticksOf, worstFirst } from "../../../static/js/charts/errors_axis.js";

/** @type {import("../../../static/js/wire.js").Numerics} */
const FOUND = JSON.parse(
  readFileSync(new URL("../../golden/wire/numerics.json", import.meta.url), "utf8"),
);
/** @type {import("../../../static/js/wire.js").CheckedValues} */
const VALUES = JSON.parse(
  readFileSync(new URL("../../golden/wire/numerics-values.json", import.meta.url), "utf8"),
);

test("the axis contains every error and the tolerance", () => {
  const axis = axisOf(FOUND);
  assert.ok(axis.least < -6 && axis.most > -4, JSON.stringify(axis));
  const runs = FOUND.program ? [...FOUND.rows, FOUND.program] : FOUND.rows;
  for (const { relative_error: error } of runs) {
    const share = shareOf(axis, error);
    assert.ok(share > 0 && share < shareOf(axis, FOUND.allowed), `${error} at ${share}`);
  }
});

test("no error is before the axis, NaN is at its end, and all decades have the same length", () => {
  const axis = { least: -8, most: -2 };
  assert.equal(shareOf(axis, 0), 0);
  assert.equal(shareOf(axis, null), 1);
  assert.equal(shareOf(axis, 50), 1);
  assert.ok(shareOf(axis, 1e-12) > 0);
  const [a, b, c] = [1e-7, 1e-6, 1e-5].map((error) => shareOf(axis, error));
  assert.ok(Math.abs(b - a - (c - b)) < 1e-12);
  assert.ok(a < b);
});

test("the axis of a model without errors depends on the tolerance alone", () => {
  const axis = axisOf({ ...FOUND, rows: [], program: null, allowed: 1e-4 });
  assert.deepEqual(axis, { least: -5, most: -3 });
  assert.deepEqual(ticksOf({ least: -16, most: 0 }, 5), [-16, -12, -8, -4, 0]);
});

test("unchanged stages are omitted, except for the current stage", () => {
  const shown = shownStages(FOUND.rows, 2).map(({ stage }) => stage);
  const changed = FOUND.rows.filter((row) => row.changed).map(({ stage }) => stage);
  assert.deepEqual(shown, [...changed, 2].sort((a, b) => a - b));
});

test("values are sorted by decreasing error, with NaN first", () => {
  const odd = { ...VALUES.values[0], relative_error: null, name: "odd" };
  const sorted = worstFirst([...VALUES.values, odd]);
  assert.equal(sorted[0].name, "odd");
  const errors = sorted.slice(1).map((each) => each.relative_error ?? Infinity);
  assert.deepEqual(errors, [...errors].sort((a, b) => b - a));
  assert.equal(sorted.length, VALUES.values.length + 1);
});

test("small models are checked automatically", () => {
  const result = JSON.parse(
    readFileSync(new URL("../../golden/wire/result.json", import.meta.url), "utf8"),
  );
  assert.ok(isQuick(result));
  assert.ok(!isQuick({ ...result, complete: false }));
  assert.ok(!isQuick({ ...result, kernels: [{ ...result.kernels[0], flops: 1e9 }] }));
});
