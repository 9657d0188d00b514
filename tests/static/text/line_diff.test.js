// Tests of line diffs: texts with a known difference, and reconstruction of both texts.
import assert from "node:assert/strict";
import test from "node:test";
import { lineDiff } from "../../../static/js/text/line_diff.js";

const BEFORE = "split m 8\nsplit n 32\nreorder m n\nunroll m\n";
const AFTER = "split m 4\nsplit n 32\nunroll m\nprefetch W 6\n";

test("a changed line appears as a removed and an added line, and other lines are unchanged", () => {
  const kinds = lineDiff(BEFORE, AFTER).map(({ kind, text }) => `${kind[0] ?? " "} ${text}`);
  assert.deepEqual(kinds, [
    "r split m 8",
    "a split m 4",
    "  split n 32",
    "r reorder m n",
    "  unroll m",
    "a prefetch W 6",
  ]);
});

test("both texts can be reconstructed from the diff", () => {
  const rows = lineDiff(BEFORE, AFTER);
  const side = (/** @type {string} */ not) =>
    rows.filter(({ kind }) => kind !== not).map(({ text }) => `${text}\n`).join("");
  assert.equal(side("added"), BEFORE);
  assert.equal(side("removed"), AFTER);
  assert.deepEqual(lineDiff("", ""), []);
});
