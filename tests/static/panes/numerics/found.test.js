import assert from "node:assert/strict";
import test from "node:test";
import { neverMoved } from "../../../../static/js/panes/numerics/found.js";

const keys = (/** @type {Parameters<typeof neverMoved>[0]} */ program) => neverMoved(program).map(([key]) => key);

test("equal bits of all stages do not hide the error of the generated code", () => {
  const says = neverMoved({ relative_error: 1.5e-6 });
  assert.deepEqual(says[1], ["numerics.never-moved-program", { error: "1.5e-6" }]);
});

test("a program without an error, or without a check, has no error to state", () => {
  assert.deepEqual(keys({ relative_error: 0 }), ["numerics.never-moved", "numerics.never-moved-exact"]);
  assert.deepEqual(keys(null), ["numerics.never-moved"]);
});
