// The stages of starting Python in the page, in order. Their words are in templates/words/course.html.

/** @typedef {"python" | "packages" | "compiler" | "ready"} Stage */

/** @type {Stage[]} */
export const STAGES = ["python", "packages", "compiler", "ready"];
