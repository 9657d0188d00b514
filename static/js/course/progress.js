// The reader's progress and answers, kept in this browser only; a file carries them to another browser.

const STORED = "compilarium.course";
const VERSION = 1;

/**
 * @typedef {object} Prediction
 * @property {string} value the number as written, or the position of the choice; "" if skipped
 *
 * @typedef {object} Tried the work on one exercise
 * @property {string} text the answer, "" for the skeleton
 * @property {boolean} passed
 * @property {number} attempts
 * @property {number} hints number of hints shown
 * @property {boolean} solved whether the solution was shown
 *
 * @typedef {object} LessonProgress
 * @property {number} step the current step, from 0
 * @property {number} steps number of steps of the lesson
 * @property {number[]} seen steps that the reader has finished
 * @property {Record<string, Prediction>} predictions by name of the block
 * @property {Record<string, number[]>} answers chosen answers of each question, in order, by position of the block
 * @property {Record<string, Tried>} exercises by folder
 *
 * @typedef {{version: number, lessons: Record<string, LessonProgress>}} Progress
 */

/** @returns {LessonProgress} */
const begun = () => ({ step: 0, steps: 0, seen: [], predictions: {}, answers: {}, exercises: {} });

/** @returns {Tried} */
export const untried = () => ({ text: "", passed: false, attempts: 0, hints: 0, solved: false });

/** @type {Progress} */
let current = { version: VERSION, lessons: {} };

function read() {
  try {
    current = progressOf(localStorage.getItem(STORED) ?? "") ?? { version: VERSION, lessons: {} };
  } catch {
    // Without storage, the progress lasts as long as the page.
  }
}

function write() {
  try {
    localStorage.setItem(STORED, JSON.stringify(current));
  } catch {
    // The storage is full or forbidden.
  }
}

/**
 * Return the progress in a text, or null if it has none. Unknown and damaged parts are dropped.
 * @param {string} text
 * @returns {Progress | null}
 */
export function progressOf(text) {
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    return null;
  }
  if (data === null || typeof data !== "object" || data.version !== VERSION || !isTable(data.lessons)) return null;
  /** @type {Progress} */
  const found = { version: VERSION, lessons: {} };
  for (const [name, each] of Object.entries(data.lessons)) {
    if (isTable(each)) found.lessons[name] = lessonOf(each);
  }
  return found;
}

/** @param {unknown} value @returns {value is Record<string, any>} */
const isTable = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const count = (/** @type {unknown} */ value) =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : 0;
const counts = (/** @type {unknown} */ value) =>
  Array.isArray(value) ? value.filter((each) => Number.isInteger(each) && each >= 0) : [];

/** @param {Record<string, any>} data @returns {LessonProgress} */
function lessonOf(data) {
  const made = { ...begun(), step: count(data.step), steps: count(data.steps), seen: counts(data.seen) };
  for (const [name, each] of tables(data.predictions)) made.predictions[name] = { value: String(each.value ?? "") };
  if (isTable(data.answers))
    for (const [name, each] of Object.entries(data.answers)) made.answers[name] = counts(each);
  for (const [name, each] of tables(data.exercises))
    made.exercises[name] = {
      text: typeof each.text === "string" ? each.text.slice(0, 100_000) : "",
      passed: each.passed === true,
      attempts: count(each.attempts),
      hints: count(each.hints),
      solved: each.solved === true,
    };
  return made;
}

/** @param {unknown} value */
const tables = (value) => (isTable(value) ? Object.entries(value).filter(([, each]) => isTable(each)) : []);

/** @param {string} lesson @returns {LessonProgress | null} null if the lesson was not begun */
export const progressIn = (lesson) => current.lessons[lesson] ?? null;

/** Return the lesson that the reader worked on last, "" for none. */
export const lastLesson = () => Object.keys(current.lessons).at(-1) ?? "";

/**
 * Change the progress of a lesson, and store it.
 * @param {string} lesson
 * @param {(progress: LessonProgress) => void} change
 */
export function note(lesson, change) {
  const progress = current.lessons[lesson] ?? begun();
  change(progress);
  // The last key is the last lesson.
  delete current.lessons[lesson];
  current.lessons[lesson] = progress;
  write();
}

/** Return all progress as the text of a file. */
export const exported = () => JSON.stringify(current, null, 2);

/**
 * Add the progress of a file: finished steps and passed exercises of both stay, other values are those of the file.
 * @param {string} text
 * @returns {number} number of lessons in the file, -1 if the file has no progress
 */
export function imported(text) {
  const found = progressOf(text);
  if (!found) return -1;
  for (const [name, theirs] of Object.entries(found.lessons)) current.lessons[name] = joined(current.lessons[name], theirs);
  write();
  return Object.keys(found.lessons).length;
}

/**
 * @param {LessonProgress | undefined} ours
 * @param {LessonProgress} theirs
 * @returns {LessonProgress}
 */
function joined(ours, theirs) {
  if (!ours) return theirs;
  const exercises = { ...ours.exercises };
  for (const [name, each] of Object.entries(theirs.exercises)) {
    const own = ours.exercises[name];
    exercises[name] = own?.passed && !each.passed ? own : each;
  }
  return {
    ...theirs,
    seen: [...new Set([...ours.seen, ...theirs.seen])].sort((a, b) => a - b),
    predictions: { ...ours.predictions, ...theirs.predictions },
    answers: { ...ours.answers, ...theirs.answers },
    exercises,
  };
}

/** Forget everything. */
export function forget() {
  current = { version: VERSION, lessons: {} };
  write();
}

/**
 * Return the state of a lesson: its exercises that passed, and whether all steps and exercises are done.
 * @param {LessonProgress | null} progress
 * @param {number} exercises number of exercises of the lesson
 * @returns {{state: "new" | "begun" | "read" | "done", passed: number}}
 */
export function stateOf(progress, exercises) {
  if (!progress) return { state: "new", passed: 0 };
  const passed = Object.values(progress.exercises).filter((each) => each.passed).length;
  const isRead = progress.steps > 0 && progress.seen.length >= progress.steps;
  if (!isRead) return { state: "begun", passed };
  return { state: passed >= exercises ? "done" : "read", passed };
}

read();
// Another tab may have written newer progress.
if (typeof addEventListener === "function")
  addEventListener("storage", (event) => event.key === STORED && read());
