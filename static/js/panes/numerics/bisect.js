// Bisection: a job finds a minimal set of rules that changes the numbers, and a reduced model; the
// pane can compile without these rules.
import { api, bisection } from "../../server/api.js";
import { LINKED, jobBeside } from "../../jobs/beside.js";
import { bindValue } from "../../state/bindings.js";
import { childJob } from "../../jobs/child_job.js";
import { queuedWords } from "../../jobs/waiting.js";
import { asProblem, requestFor } from "../../jobs/compile.js";
import { clone, el, listen, part, partOf, presentResult } from "../../elements/dom.js";
import { formatBytes, formatCount, formatError, formatSeconds } from "../../text/format.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { showProblem } from "../shell/problem.js";

/**
 * @typedef {import("../../wire.js").Bisection} Bisection
 * @typedef {import("../../wire.js").BisectedRewrite} BisectedRewrite
 */

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {import("../../jobs/beside.js").Findings} findings
 * @returns {() => void}
 */
export function mountBisect(root, state, findings) {
  const { parts, work, beside } = state.get();
  root.replaceChildren();
  if (!parts || (!work && !beside.some(({ kind }) => kind === "bisect"))) return () => {};
  root.replaceChildren(clone("bisect"));
  const start = partOf(root, "bisect-start", HTMLButtonElement);
  const cancel = part(root, "bisect-cancel");
  const moved = partOf(root, "bisect-moved", HTMLSelectElement);
  const busy = part(root, "bisect-busy");
  const shown = part(root, "bisect-found");
  let request = 0;
  /** @type {ReturnType<typeof childJob> | null} */
  let job = null;
  part(root, "bisect-bar").hidden = work === null;

  /** Return the largest known change of the numbers. */
  const most = () => Math.max(0, ...(state.get().numerics.found?.rows ?? []).map((row) => row.moved ?? 0));
  /** Return the required change as a fraction of the scale; null for the tolerance. */
  const wanted = () =>
    ({ "": null, "0": 0, half: Number((most() / 2).toPrecision(2)) })[state.get().moved];

  /** @param {string} words @param {boolean} [runs] */
  function say(words, runs = false) {
    busy.textContent = words;
    start.disabled = runs;
    cancel.hidden = !runs;
  }

  /** @param {() => Promise<import("../../wire.js").Job>} submit @param {boolean} [isAsked] by the user, not by a link */
  async function follow(submit, number = ++request, isAsked = false) {
    showProblem(part(root, "bisect-problem"), null);
    delete shown.dataset.over;
    say(word("bisect.starting"), true);
    const mine = childJob(submit, (name, data, id) => {
      if (number !== request) return;
      if (name === "queued") say(queuedWords(data), true);
      else if (name === "phase") say(data.words, true);
      else if (name === "ready") void read(id, number);
    });
    job?.leave();
    job = mine;
    try {
      const id = await mine.id;
      if (number === request) state.set({ bisect: id });
      const done = await mine.done;
      if (number !== request) return;
      if (done.state === "cancelled") return say(word("bisect.cancelled"));
      await read(id, number);
      if (isAsked) presentResult(shown);
      say("");
      shown.dataset.over = id;
    } catch (thrown) {
      if (number !== request) return;
      say("");
      showProblem(part(root, "bisect-problem"), asProblem(thrown));
    }
  }

  /** @param {string} id @param {number} number */
  async function read(id, number) {
    const found = await bisection(id);
    if (number === request) shown.replaceChildren(...foundOf(found, id));
  }

  /** @param {Bisection} found @param {string} id */
  function foundOf(found, id) {
    const effort = word("bisect.effort", { n: found.n_runs, time: formatSeconds(found.seconds) });
    if (!found.is_stable) return [el("p", {}, word("bisect.unstable", { why: found.detail }))];
    if (!found.kind) return [el("p", {}, word("bisect.none")), el("p", { class: "muted" }, effort)];
    return [
      el("p", {}, word("bisect.found", { why: found.detail })),
      ...(found.rewrites.length
        ? [el("ul", { class: "bisect-rules" }, ...found.rules.map((rule) => ruleOf(rule, found)))]
        : [el("p", {}, found.passes.length ? word("bisect.passes", { names: found.passes.join(", ") }) : word("bisect.before"))]),
      ...(work && found.rewrites.length
        ? [el("button", { class: "button", type: "button", onclick: () => void without() }, word("bisect.without"))]
        : []),
      found.first
        ? el("p", { class: "muted" }, word("bisect.first", { n: found.n_before_first + 1, rule: found.first.rule, at: found.first.at }))
        : null,
      el("p", { class: "muted" }, effort),
      ...reducedOf(found, id),
    ].filter((each) => each !== null);
  }

  /** Create a switch that enables a rule, with the places of the rule's rewrites. @param {string} rule @param {Bisection} found */
  function ruleOf(rule, { rewrites }) {
    const its = rewrites.filter((each) => each.rule === rule);
    const box = el("input", { type: "checkbox", "data-rule": rule });
    box.checked = !state.get().off.includes(rule);
    box.addEventListener("change", () => {
      const others = state.get().off.filter((each) => each !== rule);
      state.set({ off: box.checked ? others : [...others, rule].sort() });
    });
    return el(
      "li",
      {},
      work ? el("label", {}, box, " ", el("span", { class: "mono" }, rule)) : el("span", { class: "mono" }, rule),
      its[0].is_wrong_alone ? ` ⚠ ${word("bisect.wrong-alone")}` : null,
      el("ul", { class: "value-list" }, ...its.map((each) => el("li", {}, placeOf(each)))),
    );
  }

  /** @param {BisectedRewrite} rewrite */
  function placeOf({ at, pass_name, stage, step }) {
    const text = word("bisect.place", { at, pass: pass_name });
    if (stage < 0) return text;
    const go = () => state.set({ stage, pane: "steps", step: `${stage}:${step}` });
    return el("button", { class: "link-button mono", type: "button", onclick: go }, text);
  }

  /** Compile the same model without the disabled rules, and compare the two results. */
  async function without() {
    const boxes = /** @type {NodeListOf<HTMLInputElement>} */ (shown.querySelectorAll("[data-rule]"));
    const off = [...boxes].filter((each) => !each.checked).map((each) => each.dataset.rule ?? "");
    if (!work) return;
    if (off.length === 0) return say(word("bisect.none-off"));
    try {
      const other = await work.submit({ ...requestFor(ofUpload()), without: [...new Set([...state.get().without, ...off])] });
      state.set({ other: other.id, pane: "compare" });
    } catch (thrown) {
      showProblem(part(root, "bisect-problem"), asProblem(thrown));
    }
  }

  /** Return the page's state with the model as named by the server, where a written model is an upload. */
  function ofUpload() {
    const page = state.get();
    return page.result ? { ...page, model: `${page.result.model.source}:${page.result.model.id}` } : page;
  }

  /** @param {Bisection} found @param {string} id */
  function reducedOf({ reduced, n_nodes }, id) {
    if (!reduced) return [];
    const address = reduced.onnx_bytes ? api.reducedAddress(id) : undefined;
    const open = () => state.set({ screen: "start", model: "written", written: `ir:${reduced.text}`, shapes: {}, upload: null, inspected: null });
    return [
      el("h4", {}, word("bisect.reduced", { n: reduced.n_nodes, all: formatCount(n_nodes) })),
      el("pre", { class: "code wrap", tabIndex: 0, role: "region", "aria-label": word("bisect.text") }, el("code", {}, reduced.text)),
      reduced.n_cut ? el("p", { class: "muted" }, word("bisect.cut", { n: reduced.n_cut })) : null,
      el(
        "p",
        { class: "bisect-take" },
        work && reduced.opens ? el("button", { class: "button", type: "button", onclick: open }, word("bisect.open")) : null,
        address ? el("a", { class: "button", href: address, download: "" }, word("bisect.download", { size: formatBytes(reduced.onnx_bytes) })) : null,
      ),
      work && !reduced.opens ? el("p", { class: "muted" }, word("bisect.constants")) : null,
    ];
  }

  /** Restore the job named in the URL, or the stored job in read-only views. @param {string} id */
  async function restore(id) {
    const number = ++request;
    const named = id === LINKED || !work ? jobBeside(/** @type {import("../../server/api.js").Parts} */ (parts), "bisect", LINKED) : api.job(id);
    const found = await named.catch(() => null);
    if (number !== request) return;
    if (found) return follow(() => Promise.resolve(found), number);
    state.set({ bisect: "" });
    say(word("bisect.gone"));
  }

  const release = together(
    () => (request += 1),
    () => job?.leave(),
    listen(start, {
      click: () =>
        void follow(() => {
          state.set({ off: [] });
          return findings.bisect(parts.id, { moved: wanted() });
        }, ++request, true),
    }),
    listen(cancel, { click: () => job?.cancel() }),
    bindValue(moved, state, "moved"),
    state.watch(["numerics", "moved"], () => {
      const half = partOf(root, "bisect-half", HTMLOptionElement);
      half.hidden = half.disabled = most() === 0;
      half.textContent = word("bisect.half", { part: formatError(most() / 2) });
    }),
  );
  const { bisect } = state.get();
  if (bisect || !work) void restore(bisect);
  return release;
}
