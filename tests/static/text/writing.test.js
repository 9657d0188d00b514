import assert from "node:assert/strict";
import { test } from "node:test";
import { IDLE } from "../../../static/js/state/page.js";
import { canCompile, completions, placeOf, splitText, verdictOn } from "../../../static/js/text/writing.js";

const KNOWN = [
  { name: "softmax", signature: "softmax(x, axis=)", words: "Scores become shares.\nMore.", family: "" },
  { name: "softplus", signature: "softplus(x)", words: "", family: "" },
];
const labels = (/** @type {string} */ text, /** @type {string[]} */ names = []) =>
  completions(text, text.length, KNOWN, names).found.map(({ label }) => label);

test("completions of a word are names from the text, then functions", () => {
  assert.deepEqual(labels("y = soft", ["softly", "h"]), ["softly", "softmax", "softplus"]);
  assert.equal(completions("y = soft", 8, KNOWN, []).from, 4);
});

test("inside a call, attributes are completed first, also after lists and nested calls", () => {
  assert.deepEqual(labels("softmax(relu(x), a"), ["axis="]);
  assert.deepEqual(labels("softmax([1, a"), ["axis="]);
  assert.deepEqual(labels("softmax(x) + a"), []);
});

test("the language of a text is recognised", () => {
  assert.deepEqual(splitText("ir:graph"), { language: "ir", text: "graph" });
  assert.deepEqual(splitText("py:"), { language: "py", text: "" });
});

const problem = (/** @type {number} */ line) => ({
  code: "E-GRAPH-NAME",
  message: "'rleu' is not defined",
  where: { source: "", line, column: 12, length: 4, node: "" },
  notes: [],
  hint: "",
});
const reading = (/** @type {number[]} */ lines, failed = false) => ({
  found: { problems: lines.map(problem), lines: [], n_nodes: null, ir: "" },
  failed,
});

test("a text with errors cannot be compiled, and the page shows their number and the first error", () => {
  const { offered, key, n, first } = verdictOn(reading([3, 4]));
  assert.deepEqual({ offered, key, n }, { offered: false, key: "write.wrong", n: 2 });
  assert.equal(first && placeOf(first), "3:12");
});

test("a text can be compiled once it has no errors, or if it could not be checked", () => {
  assert.equal(verdictOn(null).offered, false);
  assert.deepEqual(verdictOn(reading([])), { offered: true, key: "start.chosen", n: 0, first: null });
  assert.equal(verdictOn(reading([0], true)).offered, true);
  assert.equal(placeOf(problem(0)), "E-GRAPH-NAME");
});

test("neither button nor shortcut compiles a text with errors, but a text that was compiled can be compiled again", () => {
  const page = /** @type {const} */ ({ screen: "start", model: "written", progress: IDLE, reading: reading([3]) });
  assert.equal(canCompile(page), false);
  assert.equal(canCompile({ ...page, reading: reading([]) }), true);
  assert.equal(canCompile({ ...page, screen: "walk", reading: null }), true);
  assert.equal(canCompile({ ...page, model: "sample:lenet" }), true);
  assert.equal(canCompile({ ...page, model: "" }), false);
  assert.equal(canCompile({ ...page, reading: null, progress: { ...IDLE, state: "running" } }), false);
});
