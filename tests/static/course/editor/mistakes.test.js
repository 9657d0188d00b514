// Tests of messages under the lines of the editor.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EditorState } from "@codemirror/state";
import { mistakes, setMistakes } from "../../../../static/js/course/editor/mistakes.js";

const TEXT = "one\ntwo\nthree\n";

/** @param {import("@codemirror/state").EditorState} state */
function shown(state) {
  const found = /** @type {[number, string][]} */ ([]);
  state.field(mistakes).between(0, state.doc.length, (from, _, { spec }) => {
    if (spec.widget) found.push([state.doc.lineAt(from).number, spec.widget.text]);
  });
  return found;
}

/** @param {...import("../../../../static/js/course/editor/editor.js").Mistake} found */
function withMistakes(...found) {
  const state = EditorState.create({ doc: TEXT, extensions: mistakes });
  return state.update({ effects: setMistakes.of(found) }).state;
}

test("messages stand at their lines, and replace the previous ones", () => {
  const state = withMistakes({ line: 3, message: "three" }, { line: 1, message: "one" });
  assert.deepEqual(shown(state), [[1, "one"], [3, "three"]]);
  const next = state.update({ effects: setMistakes.of([{ line: 2, message: "two" }]) }).state;
  assert.deepEqual(shown(next), [[2, "two"]]);
});

test("a message without a line, or beyond the text, stands at the nearest line", () => {
  const state = withMistakes({ line: 0, message: "first" }, { line: 99, message: "last" });
  assert.deepEqual(shown(state), [[1, "first"], [4, "last"]]);
});

test("a message moves with its line, and goes when its line changes", () => {
  const state = withMistakes({ line: 2, message: "two" });
  const moved = state.update({ changes: { from: 0, insert: "zero\n" } }).state;
  assert.deepEqual(shown(moved), [[3, "two"]]);
  const at = moved.doc.line(3).from;
  assert.deepEqual(shown(moved.update({ changes: { from: at, insert: "x" } }).state), []);
});
