import assert from "node:assert/strict";
import test from "node:test";
import { appliedFirst, declaredStep, exampleText } from "../../../static/js/results/rules.js";

const kind = (/** @type {string} */ name, /** @type {string} */ words) => ({ name, words, example: { before: "a", after: "b" }, near_miss: "c" });
/** @type {Parameters<typeof declaredStep>[0]} */
const pipelines = /** @type {any} */ ({
  passes: [
    { name: "assign_layout", steps: [kind("relayout", "for a reader")] },
    { name: "choose_algorithms", steps: [kind("relayout", "for tiles")] },
    { name: "fold_affine", steps: [] },
  ],
  rules: [kind("scale_into_conv", "a rule")],
  shared_steps: [kind("unread_constant", "of any pass")],
});
const words = (/** @type {string} */ pass, /** @type {string} */ name) => declaredStep(pipelines, pass, name)?.words;

test("the pass decides between kinds of steps with one name", () => {
  assert.equal(words("assign_layout", "relayout"), "for a reader");
  assert.equal(words("choose_algorithms", "relayout"), "for tiles");
  assert.equal(words("fold_affine", "relayout"), undefined);
});

test("rules and shared kinds belong to any pass", () => {
  assert.equal(words("fold_affine", "scale_into_conv"), "a rule");
  assert.equal(words("fold_affine", "unread_constant"), "of any pass");
  assert.equal(declaredStep(null, "fold_affine", "scale_into_conv"), undefined);
});

test("the example of an analysis is one graph", () => {
  assert.equal(exampleText({ before: "a\n", after: "b" }), "a\n⇒\nb");
  assert.equal(exampleText({ before: "a\n", after: "a" }), "a");
});

test("applied steps come first, each group in its order", () => {
  const steps = /** @type {any[]} */ (["declined", "applied", "declined", "applied"].map((outcome) => ({ outcome })));
  assert.deepEqual(appliedFirst(steps).map((step) => steps.indexOf(step)), [1, 3, 0, 2]);
});
