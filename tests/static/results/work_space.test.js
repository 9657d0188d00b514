import assert from "node:assert/strict";
import test from "node:test";
import { workSpaceOf } from "../../../static/js/results/work_space.js";

/** @type {any[]} */
const kernels = [{ name: "softmax", inside: null }, { name: "body", inside: 0 }, { name: "norm", inside: null }];
const buffer = (/** @type {string} */ name, /** @type {object} */ more = {}) => /** @type {any} */ ({ name, values: [name], start: 1, end: 2, ...more });

test("a buffer that is named after a stage of a launch is the work space of this launch", () => {
  assert.deepEqual(workSpaceOf(buffer("1:TOTAL"), kernels), { kernel: "norm", stage: "TOTAL" });
});

test("a buffer of values is no work space, whatever its name", () => {
  assert.equal(workSpaceOf(buffer("conv1.out"), kernels), null);
  assert.equal(workSpaceOf(buffer("1:0", { end: 3 }), kernels), null);
  assert.equal(workSpaceOf(buffer("7:0"), kernels), null);
  assert.equal(workSpaceOf(buffer("1:0", { values: ["1:0", "view"] }), kernels), null);
  assert.equal(workSpaceOf(buffer("9:E", { start: 9, end: 10 }), kernels), null);
});
