import assert from "node:assert/strict";
import { test } from "node:test";
import { completions, splitText } from "../../static/js/writing.js";

const KNOWN = [
  { name: "softmax", signature: "softmax(x, axis=)", words: "Scores become shares.\nMore.", family: "" },
  { name: "softplus", signature: "softplus(x)", words: "", family: "" },
];
const labels = (/** @type {string} */ text, /** @type {string[]} */ names = []) =>
  completions(text, text.length, KNOWN, names).found.map(({ label }) => label);

test("a word is completed by names of the text, then by functions", () => {
  assert.deepEqual(labels("y = soft", ["softly", "h"]), ["softly", "softmax", "softplus"]);
  assert.equal(completions("y = soft", 8, KNOWN, []).from, 4);
});

test("inside a call its attributes come first, also behind lists and other calls", () => {
  assert.deepEqual(labels("softmax(relu(x), a"), ["axis="]);
  assert.deepEqual(labels("softmax([1, a"), ["axis="]);
  assert.deepEqual(labels("softmax(x) + a"), []);
});

test("a text says its language", () => {
  assert.deepEqual(splitText("ir:graph"), { language: "ir", text: "graph" });
  assert.deepEqual(splitText("py:"), { language: "py", text: "" });
});
