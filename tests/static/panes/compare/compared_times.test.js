import assert from "node:assert/strict";
import test from "node:test";
import { limits } from "../../../../static/js/panes/compare/compared_times.js";

const runs = /** @type {any} */ ({ equal_share: 0.01 });

test("the differences that count as equal have a limit, another one for a single copy", () => {
  const native = limits({ is_native: true, equal_share: 0.003, runs });
  assert.deepEqual(native, [["comparing.least", "0.3\u00a0%"], ["comparing.run-words", "1.0\u00a0%"]]);
  assert.deepEqual(limits({ is_native: false, equal_share: 0.01, runs }), [["comparing.least", "1.0\u00a0%"]]);
});
