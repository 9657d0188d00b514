import assert from "node:assert/strict";
import test from "node:test";
import { declareTerms, mayHaveTerms, noteSentence, noteText, notedPieces, piecesOf } from "../../../static/js/text/terms.js";

declareTerms([
  { id: "pass", forms: ["pass", "passes"] },
  { id: "ulp", forms: ["ULP", "ULPs"] },
  { id: "open-size", forms: ["open size", "open sizes"] },
  { id: "size", forms: ["size"] },
]);
const ids = (/** @type {string} */ text) => piecesOf(text).flatMap((each) => (typeof each === "string" ? [] : [each.id]));
const again = (/** @type {string} */ text) => piecesOf(text).map((each) => (typeof each === "string" ? each : each.text)).join("");

test("whole words are terms, in every form and case", () => {
  assert.deepEqual(ids("Passes of 2 ULP; the pass."), ["pass", "ulp", "pass"]);
  assert.deepEqual(ids("bypass, pass-through, pass_list, compass"), []);
});

test("the longest term wins, also across a line break of a template", () => {
  assert.deepEqual(ids("an open\n   size and a size"), ["open-size", "size"]);
});

test("pieces together are the text", () => {
  for (const text of ["", "pass", "a pass, passes; (ULP)", "none"]) assert.equal(again(text), text);
});

test("only noted texts have terms", () => {
  noteText("the first pass");
  assert.deepEqual(notedPieces("the first pass")?.[1], { id: "pass", text: "pass" });
  assert.equal(notedPieces("another pass"), undefined);
  noteText("nothing here");
  assert.equal(notedPieces("nothing here"), undefined);
});

test("a value in a sentence is never a term", () => {
  noteSentence("The pass pass changed size.", ["The pass ", "pass", " changed size."]);
  assert.deepEqual(notedPieces("The pass pass changed size."), ["The ", { id: "pass", text: "pass" }, " ", "pass", " changed ", { id: "size", text: "size" }, "."]);
});

test("templates without terms need no work", () => {
  assert.equal(mayHaveTerms("{n} runs"), false);
  assert.equal(mayHaveTerms("{n} passes"), true);
});
