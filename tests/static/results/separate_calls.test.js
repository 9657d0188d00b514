import assert from "node:assert/strict";
import test from "node:test";
import { withoutCalls } from "../../../static/js/results/separate_calls.js";

test("times without calls are unknown if the calls take longer than the kernels", () => {
  const times = { median_s: 10, low_s: 9, high_s: 12 };
  assert.deepEqual(withoutCalls(times, 1, 4), { median_s: 6, low_s: 5, high_s: 8 });
  assert.deepEqual(withoutCalls(times, 2, 2), { median_s: 6, low_s: 5, high_s: 8 });
  assert.equal(withoutCalls(times, 1, 6), null);
  assert.equal(withoutCalls(times, 3, 2), null);
  assert.equal(withoutCalls(null, 1, 0), null);
  assert.deepEqual(withoutCalls(times, 1, 0), times);
});
