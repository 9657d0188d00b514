import assert from "node:assert/strict";
import { test } from "node:test";
import { scheduleCompletions, splitEdited, verdictOf } from "../../../static/js/text/schedule_text.js";

/** @param {string} name @param {string[]} kinds @param {"nest" | "stages"} [level] */
const move = (name, kinds, level = "nest") => ({
  name,
  signature: `${name}(...)`,
  words: "",
  level,
  parameters: kinds.map((kind) => ({ name: kind, kind, words: kind, is_rest: false })),
});
const MOVES = {
  characters: 20_000,
  steps: ["dot", "tile"],
  moves: [
    move("split", ["loop", "number", "new loop", "new loop"]),
    { ...move("reorder", ["loop"]), parameters: [{ name: "loops", kind: "loop", words: "", is_rest: true }] },
    move("pack", ["tensor"]),
    move("compute_at", ["stage", "loop", "number"], "stages"),
  ],
};
const CHECKED = {
  problems: [],
  n_moves: 1,
  stages: ["E", "Y"],
  nests: [
    { nest: "Y", line: 0, loops: ["m", "n"], tensors: ["A", "W"] },
    { nest: "Y", line: 1, loops: ["m", "no", "ni"], tensors: ["A", "W"] },
  ],
};
const labels = (/** @type {string} */ text) =>
  scheduleCompletions(text, text.length, MOVES, CHECKED).found.map(({ label }) => label);

test("completions of a schedule line are nests, then moves, then the arguments of the move", () => {
  assert.deepEqual(labels(""), ["Y", "E"]);
  assert.deepEqual(labels("Y: s"), ["split"]);
  assert.deepEqual(labels("Y: split("), ["m", "n"]);
  assert.deepEqual(labels("Y: split(n, "), []);
  assert.deepEqual(labels("Y: pack("), ["A", "W"]);
});

test("loops are completed as they are after the lines above, except loops already named in the line", () => {
  assert.deepEqual(labels("Y: split(n, 4, no, ni)\nY: reorder(n"), ["no", "ni"]);
  assert.deepEqual(labels("Y: split(n, 4, no, ni)\nY: reorder(no, "), ["m", "ni"]);
  assert.deepEqual(labels("Y: pack(W)\nQ: reorder("), []);
});

test("a move on stages takes a stage, then a loop of this stage", () => {
  assert.deepEqual(labels("E: compute_at("), ["E", "Y"]);
  assert.deepEqual(labels("E: compute_at(Y, "), ["m", "n"]);
});

test("an edited schedule belongs to a kernel, and its text may contain any characters", () => {
  assert.deepEqual(splitEdited("12:Y: split(n, 4)\n// 3:4"), { kernel: 12, text: "Y: split(n, 4)\n// 3:4" });
  assert.deepEqual(splitEdited(""), { kernel: -1, text: "" });
});

test("a ratio is significant if its interval excludes 1 and the noise around 1", () => {
  assert.equal(verdictOf({ low: 0.8, high: 0.9, noise: 0.02 }), "faster");
  assert.equal(verdictOf({ low: 0.9, high: 0.99, noise: 0.02 }), "same");
  assert.equal(verdictOf({ low: 1.03, high: 1.2, noise: 0.02 }), "slower");
});
