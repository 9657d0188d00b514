import assert from "node:assert/strict";
import test from "node:test";
import { inPlace } from "../../../static/js/results/in_place.js";

const buffers = [{ values: ["a"] }, { values: ["joined", "b", "c"] }, { values: ["d", "flat"] }];

test("a concatenation whose operands lie in its buffer needs no kernel", () => {
  assert.equal(inPlace({ inputs: ["b", "c"], outputs: ["joined"] }, buffers), "parts");
});

test("a value that shares the buffer of one operand is a view", () => {
  assert.equal(inPlace({ inputs: ["d", "shape"], outputs: ["flat"] }, buffers), "view");
  assert.equal(inPlace({ inputs: ["b", "b"], outputs: ["joined"] }, buffers), "view");
});

test("operands in other buffers are copied by a kernel", () => {
  assert.equal(inPlace({ inputs: ["a", "d"], outputs: ["joined"] }, buffers), "");
  assert.equal(inPlace({ inputs: ["b"], outputs: ["unknown"] }, buffers), "");
});
