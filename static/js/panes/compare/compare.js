// Two pipelines for one model: structure, memory, predicted and measured time, code side by side.
import { api, createParts, follow } from "../../server/api.js";
import { bindFold } from "../../state/bindings.js";
import { mountComparedCode } from "./comparison_code.js";
import { mountComparedTimes } from "./compared_times.js";
import { comparisonTables } from "./comparison_tables.js";
import { mountPeers } from "./peers.js";
import { asProblem, sentRequest } from "../../jobs/compile.js";
import { withComparedTimes } from "../../jobs/comparing.js";
import { keepAwaited, queuedWords } from "../../jobs/waiting.js";
import { clone, el, listen, part, partOf, presentResult } from "../../elements/dom.js";
import { enabledPipeline, parsePipeline, printPipeline } from "../../text/pipeline_text.js";
import { createState, together } from "../../state/state.js";
import { hasWord, word } from "../../text/words.js";
import { mountPipeline } from "../passes/pipeline.js";
import { showProblem } from "../shell/problem.js";

const AGAIN_MS = 1000;

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {import("../../server/work.js").Work} work
 * @returns {() => void}
 */
export function mountCompare(root, state, work) {
  root.replaceChildren(clone("pane-compare"));
  const run = partOf(root, "run", HTMLButtonElement);
  const cancel = part(root, "cancel");
  const progress = part(root, "progress");
  const shown = part(root, "result");
  const problem = part(root, "problem");
  let request = 0;
  let unfollow = () => {};
  let stopCode = () => {};
  let stopTimes = () => {};
  /** Whether the user started the pending run, rather than a link. */
  let isAsked = false;

  // Edit the pipeline of B with the editor of the start screen.
  const { result, pipelines, pipeline, planned } = state.get();
  /** The pipeline of B before edits, which links omit. */
  let given = pipeline || result?.pipeline || "";
  const other = createState({ ...state.get(), pipeline: planned || given, pipelines });
  /** Rules disabled in B. @type {string[]} */
  let leftOut = [];
  /** The tuning job whose schedules B uses. */
  let tuned = "";

  function busy(/** @type {string} */ words) {
    cancel.hidden = words === "";
    run.disabled = words !== "";
    progress.textContent = words;
  }

  function sayLeftOut(/** @type {string[]} */ rules) {
    leftOut = rules;
    part(root, "left-out").hidden = rules.length === 0;
    part(root, "left-out").textContent = word("compare.left-out", { rules: rules.join(", ") });
  }

  function fail(/** @type {unknown} */ thrown) {
    busy("");
    showProblem(problem, asProblem(thrown));
  }

  /** Compile B; with `reuse`, take an equal earlier compilation, whose comparison with A is reused, too. */
  async function start(reuse = false) {
    const number = ++request;
    isAsked = true;
    unfollow();
    showProblem(problem, null);
    busy(word("progress.sending"));
    sayLeftOut(state.get().without);
    tuned = state.get().tuned;
    try {
      const job = await work.submit(
        await sentRequest({ ...state.get(), pipeline: other.get().pipeline }),
        reuse,
      );
      if (number !== request) return void api.cancel(job.id).catch(() => {});
      state.set({ other: job.id, pair: "" });
      watch(job.id, number);
    } catch (thrown) {
      if (number === request) fail(thrown);
    }
  }

  function watch(/** @type {string} */ id, /** @type {number} */ number) {
    unfollow = follow(id, (name, data) => {
      if (number !== request) return;
      if (name === "queued") busy(queuedWords(data));
      else if (name === "phase") busy(hasWord(`phase.${data.phase}`) ? word(`phase.${data.phase}`) : data.words);
      else if (name === "pass") busy(word("progress.pass", { name: data.name }));
      else if (name === "finished") void show(id, number);
      else if (name === "failed") {
        busy("");
        showProblem(problem, data.error);
      } else if (name === "cancelled") busy("");
      // The server has no free stream or is unreachable: request the job's state later.
      else if (name === "lost") setTimeout(() => void (number === request && restore()), AGAIN_MS);
    });
  }

  async function show(/** @type {string} */ id, /** @type {number} */ number) {
    const { parts, result: a } = state.get();
    if (!parts || !a) return;
    try {
      const second = createParts(id);
      const b = await second.result();
      const [graphA, graphB] = await Promise.all([
        parts.graph(a.stages[a.stages.length - 1].graph_stage),
        second.graph(b.stages[b.stages.length - 1].graph_stage),
      ]);
      if (number !== request) return;
      busy("");
      const tables = comparisonTables(a, b, graphA, graphB);
      const open = el("button", { class: "button", type: "button", onclick: () => walkB(id) }, word("compare.walk"));
      const code = el("section", { class: "section", "data-section": "compare-code" });
      const times = el("div", { "data-part": "times" });
      const measured = el("section", { class: "section", "data-section": "compare-measured" }, el("h3", {}, word("compare.measured")), times);
      stopCode();
      stopTimes();
      shown.replaceChildren(measured, ...tables, code, el("p", {}, open));
      stopTimes = mountComparedTimes(times, work, a, b, (found) => {
        if (number !== request) return;
        state.set({ compared: found });
        stopCode();
        stopCode = mountComparedCode(code, state, withComparedTimes(a, found?.a ?? null), withComparedTimes(b, found?.b ?? null), second, found);
        if (isAsked) presentResult(shown, shown.querySelector("p strong"));
        isAsked = false;
      });
    } catch (thrown) {
      if (number === request) fail(thrown);
    }
  }

  /** Swap A and B: walk through B, compared with A. */
  function walkB(/** @type {string} */ id) {
    const place = new URLSearchParams(location.hash.slice(1));
    place.set("job", id);
    place.set("other", state.get().job);
    place.set("pipeline", other.get().pipeline);
    const pair = state.get().pair.split(":").reverse().join(":");
    if (pair) place.set("pair", pair);
    for (const gone of ["stage", "select", "at", "kernel", "line", "step", "base", "open", "camera", "unfolded", "without", "tuned"]) place.delete(gone);
    place.set("planned", state.get().pipeline);
    for (const rule of leftOut) place.append("without", rule);
    if (tuned) place.set("tuned", tuned);
    location.hash = place.toString();
  }

  /** Restore the linked job: show a finished job, follow a running job. */
  async function restore() {
    const id = state.get().other;
    if (!id || id === state.get().job) return;
    const number = ++request;
    busy(word("progress.restoring"));
    try {
      const job = await api.job(id);
      if (number !== request) return;
      const compiled = /** @type {import("../../wire.js").JobRequest} */ (job.request);
      const { pipeline: asked, without = [] } = compiled;
      tuned = compiled.tuned ?? "";
      sayLeftOut(without);
      if (asked && asked !== "default" && !state.get().planned) {
        given = printPipeline(parsePipeline(asked));
        other.set({ pipeline: given });
      }
      if (job.state === "succeeded") await show(id, number);
      else if (job.state === "failed") fail(job.error);
      else if (job.state === "cancelled") busy("");
      else watch(id, number);
    } catch (thrown) {
      if (number === request) fail(thrown);
    }
  }

  const stop = together(
    mountPipeline(root, other, state),
    bindFold(partOf(root, "editor", HTMLDetailsElement), state, "compare-editor"),
    state.watch(["planned"], ({ planned: text }) => text && other.set({ pipeline: text })),
    () => {
      unfollow();
      // The comparison continues, and is shown when the pane opens again.
      if (state.get().other) void keepAwaited(state.get().other);
    },
    () => stopCode(),
    () => stopTimes(),
    mountPeers(part(root, "peers"), state, work),
    listen(run, { click: () => void start() }),
    listen(cancel, {
      click: () => {
        request += 1;
        unfollow();
        void api.cancel(state.get().other).catch(() => {});
        state.set({ other: "" });
        busy("");
      },
    }),
    state.watch(["pipelines"], ({ pipelines: known }) => other.set({ pipelines: known })),
    other.watch(["pipeline"], ({ pipeline: text }) => {
      // The pipeline of B is empty until the passes are known.
      if (given === "") given = text;
      if (text !== given || state.get().planned) state.set({ planned: text });
      const same = enabledPipeline(parsePipeline(text)) === enabledPipeline(parsePipeline(state.get().pipeline));
      part(root, "editor-says").textContent = word(same ? "compare.same" : "compare.passes", {
        n: parsePipeline(text).filter((row) => row.on).length,
      });
    }),
  );
  if (state.get().trial) {
    state.set({ trial: false });
    void start(true);
  } else void restore();
  return () => {
    request += 1;
    stop();
  };
}
