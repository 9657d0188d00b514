// A pane of a read-only view without the job whose findings it shows; a view in this site's own pages can start the
// job, and starts it at once for the pane of its link.
import { el } from "../../elements/dom.js";
import { asProblem } from "../../jobs/compile.js";
import { STARTED, find } from "../../jobs/finding.js";
import { word } from "../../text/words.js";
import { showProblem } from "./problem.js";

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {string} kind of the absent job
 * @param {import("../../jobs/finding.js").Requests | null} requests null if the view starts no jobs
 * @param {() => void} found called when the job has ended
 * @param {boolean} atOnce whether the job starts without a request of the reader
 * @returns {() => void}
 */
export function mountAbsent(root, state, kind, requests, found, atOnce) {
  let isGone = false;
  const says = el("p", {}, word(requests ? "embed.own-job" : "embed.gone"));
  const problem = el("div", { class: "problem", role: "alert", hidden: true });
  const button = el("button", { class: "button", type: "button", onclick: () => void start() }, word("embed.start"));
  const isStarted = requests !== null && /** @type {readonly string[]} */ (STARTED).includes(kind);
  root.replaceChildren(el("div", { class: "pane-empty" }, says, isStarted && el("p", {}, button), problem));

  if (isStarted && atOnce) void start();

  async function start() {
    if (!requests) return;
    button.disabled = true;
    showProblem(problem, null);
    says.textContent = word("embed.finding");
    try {
      await find(state, requests, kind, (words) => (says.textContent = words || word("embed.finding")));
      if (!isGone) found();
    } catch (thrown) {
      button.disabled = false;
      says.textContent = word("embed.own-job");
      showProblem(problem, asProblem(thrown));
    }
  }

  return () => {
    isGone = true;
  };
}
