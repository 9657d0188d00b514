import assert from "node:assert/strict";
import test from "node:test";
import { breakable } from "../../../static/js/elements/breaks.js";

test("long names may break after their joints, and nowhere else", () => {
  assert.deepEqual(breakable("recognise_attention"), ["recognise_", "attention"]);
  assert.deepEqual(breakable("/encoder/layer.0/attn"), ["/encoder/", "layer.", "0/", "attn"]);
  assert.deepEqual(breakable("norm1.out.a.b_2, 3 more"), ["norm1.", "out.", "a.", "b_", "2, 3 more"]);
});

test("short names, numbers and sentences stay whole", () => {
  for (const text of ["max_pool", "3.141592653589793", "It is fused. It is fast.", "a…b", ""])
    assert.deepEqual(breakable(text), [text]);
});

test("the parts are the whole text", () => {
  const text = "fake_quantization_to_integer → common_subexpression_elimination:x";
  assert.equal(breakable(text).join(""), text);
});
