// Tests of the reader's progress: its storage, its file, and damaged files.
import assert from "node:assert/strict";
import test from "node:test";

/** What the browser has stored before the page is opened. @type {Map<string, string>} */
const stored = new Map([
  ["compilarium.course", JSON.stringify({ version: 1, lessons: { "60-x": { step: 3, steps: 4, seen: [0, 1, 2] } } })],
]);
globalThis.localStorage = /** @type {any} */ ({
  getItem: (/** @type {string} */ key) => stored.get(key) ?? null,
  setItem: (/** @type {string} */ key, /** @type {string} */ value) => stored.set(key, value),
});
const { exported, forget, imported, lastLesson, note, progressIn, progressOf, stateOf, untried } = await import(
  "../../../static/js/course/progress.js"
);

test("a new page reads the stored progress", () => {
  assert.equal(progressIn("60-x")?.step, 3);
  assert.deepEqual(progressIn("60-x")?.seen, [0, 1, 2]);
});

test("progress is stored, and survives a file", () => {
  forget();
  note("20-a", (p) => (p.steps = 2));
  note("70-b", (p) => {
    p.predictions.guess = { value: "12" };
    p.exercises["exercise-1"] = { ...untried(), text: "fuse", passed: true };
  });
  note("20-a", (p) => p.seen.push(0));
  assert.equal(lastLesson(), "20-a");
  const file = exported();
  assert.ok([...stored.values()][0].includes('"guess"'));
  forget();
  assert.equal(progressIn("70-b"), null);
  assert.equal(imported(file), 2);
  assert.equal(progressIn("70-b")?.predictions.guess.value, "12");
  assert.equal(progressIn("70-b")?.exercises["exercise-1"].text, "fuse");
});

test("a file adds to the progress, and takes nothing away", () => {
  forget();
  note("20-a", (p) => {
    p.seen = [0, 2];
    p.exercises.x = { ...untried(), text: "mine", passed: true };
  });
  const theirs = { step: 1, steps: 3, seen: [1], exercises: { x: { text: "theirs", passed: false } } };
  assert.equal(imported(JSON.stringify({ version: 1, lessons: { "20-a": theirs } })), 1);
  assert.deepEqual(progressIn("20-a")?.seen, [0, 1, 2]);
  assert.equal(progressIn("20-a")?.exercises.x.text, "mine");
});

test("damaged files change nothing or lose only their damaged parts", () => {
  for (const text of ["", "[]", "{}", '{"version": 2, "lessons": {}}', '{"version": 1}', "null"])
    assert.equal(progressOf(text), null, text);
  const odd = { version: 1, lessons: { a: { step: "x", seen: [1, -2, "3"], predictions: [], answers: { 1: 5 } }, b: 3 } };
  const found = progressOf(JSON.stringify(odd));
  assert.deepEqual(Object.keys(found?.lessons ?? {}), ["a"]);
  assert.equal(found?.lessons.a.step, 0);
  assert.deepEqual(found?.lessons.a.seen, [1]);
  assert.deepEqual(found?.lessons.a.answers, { 1: [] });
});

test("a lesson is done when all steps are finished and all exercises pass", () => {
  const lesson = { step: 0, steps: 2, seen: [0], predictions: {}, answers: {}, exercises: {} };
  assert.equal(stateOf(null, 1).state, "new");
  assert.equal(stateOf(lesson, 1).state, "begun");
  assert.equal(stateOf({ ...lesson, seen: [0, 1] }, 1).state, "read");
  const exercises = { x: { ...untried(), passed: true } };
  assert.deepEqual(stateOf({ ...lesson, seen: [0, 1], exercises }, 1), { state: "done", passed: 1 });
});
