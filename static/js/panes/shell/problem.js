// Shows an error: message, position and hint.
import { clone, el, part } from "../../elements/dom.js";
import { word } from "../../text/words.js";

/**
 * Fill a `.problem` box, or hide it if there is no problem.
 * @param {HTMLElement} box
 * @param {import("../../state/page.js").PageProblem | null} problem
 */
export function showProblem(box, problem) {
  box.hidden = problem === null;
  if (!problem) return box.replaceChildren();
  const content = clone("problem");
  part(content, "message").textContent = problem.message;
  part(content, "code").textContent = problem.code;
  const facts = part(content, "facts");
  const fact = (/** @type {string} */ name, /** @type {string} */ text) =>
    facts.append(el("dt", {}, name), el("dd", {}, text));
  const where = placeOf(problem);
  if (where) fact(word("problem.where"), where);
  for (const note of problem.notes ?? []) if (note) fact(word("problem.note"), note);
  if (problem.hint) fact(word("problem.hint"), problem.hint);
  if (problem.trace_id) fact(word("problem.trace"), problem.trace_id);
  box.replaceChildren(content);
}

/** @param {import("../../state/page.js").PageProblem} problem */
function placeOf({ where }) {
  if (!where) return "";
  const pieces = [where.source];
  if (where.line) pieces.push(word("problem.line", { line: where.line, column: where.column }));
  if (where.node) pieces.push(word("problem.node", { node: where.node }));
  return pieces.filter(Boolean).join(", ");
}
