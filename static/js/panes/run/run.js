// Runs the program on given inputs: a form for each input, then the outputs.
import { api, upload } from "../../server/api.js";
import { jobBeside } from "../../jobs/beside.js";
import { childJob } from "../../jobs/child_job.js";
import { asProblem } from "../../jobs/compile.js";
import { withGivenTimes } from "../../jobs/measuring.js";
import { clone, el, listen, part, partOf } from "../../elements/dom.js";
import { together } from "../../state/state.js";
import { hasWord, word } from "../../text/words.js";
import { showProblem } from "../shell/problem.js";
import { InputProblem, mountInput } from "./input.js";
import { headline, outputsOf } from "./outputs.js";

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {import("../../server/work.js").Work} work
 * @returns {() => void}
 */
export function mountRun(root, state, work) {
  const { result, parts } = state.get();
  if (!result?.complete || !parts || result.options.target !== "host") {
    root.replaceChildren(el("p", { class: "pane-empty" }, word("run.none")));
    return () => {};
  }
  root.replaceChildren(clone("pane-run"));
  const start = partOf(root, "start", HTMLButtonElement);
  const cancel = partOf(root, "cancel", HTMLButtonElement);
  const forms = formsOf(parts, result);
  part(root, "inputs").replaceChildren(...forms.map(({ element }) => element));
  let request = 0;
  let leave = () => {};

  function say(/** @type {string} */ words, isBusy = false) {
    part(root, "busy").textContent = words;
    start.disabled = isBusy;
    cancel.hidden = !isBusy;
  }

  /** Upload the given values, and return the ids of the uploads by input. */
  async function sent(/** @type {AbortSignal} */ signal) {
    /** @type {Record<string, string>} */
    const ids = {};
    for (const form of forms) {
      const file = await form.file();
      if (file) ids[form.name] = (await upload(file, () => {}, signal)).id;
    }
    return ids;
  }

  async function run() {
    const number = ++request;
    const stopped = new AbortController();
    leave = () => stopped.abort();
    showProblem(part(root, "problem"), null);
    say(word("progress.sending"), true);
    try {
      const inputs = await sent(stopped.signal);
      if (number !== request) return;
      const job = childJob(
        () => work.run(/** @type {string} */ (parts?.id), { inputs }),
        (name, data, id) => {
          if (number !== request) return;
          if (name === "phase") say(phase(data), true);
          if (name === "ready") void show(id, number);
        },
      );
      leave = job.cancel;
      const done = await job.done;
      if (number !== request) return;
      if (done.state === "cancelled") return say(word("run.cancelled"));
      state.set({ ran: done.id });
      await show(done.id, number);
      takeTimes(done.id);
    } catch (problem) {
      if (number !== request) return;
      say("");
      if (!(problem instanceof InputProblem)) showProblem(part(root, "problem"), asProblem(problem));
    }
  }

  /** @type {import("../../wire.js").RunResult | null} */
  let shown = null;

  async function show(/** @type {string} */ id, /** @type {number} */ number) {
    const found = await api.run(id);
    if (number !== request) return;
    shown = found;
    part(root, "outputs").replaceChildren(...outputsOf(found, id));
    say(headline(found), start.disabled && !found.times);
  }

  /** If random inputs could not time the program, the given inputs do. */
  function takeTimes(/** @type {string} */ id) {
    const { result: now } = state.get();
    if (!now?.run || now.run.median_s !== null || !shown?.times) return;
    if (shown.has_profile) return state.set({ measured: id });
    // The sizes of the inputs gave other kernels: only the time of the whole run applies.
    state.set({ result: withGivenTimes(now, shown.times, shown.disturbance) });
  }

  /** Show the run named in a link, if the server still keeps it. */
  async function restore(/** @type {string} */ id, /** @type {import("../../server/api.js").Parts} */ of) {
    const number = request;
    const job = await jobBeside(of, "run", id);
    if (!job) throw new Error(word("run.gone"));
    state.set({ ran: job.id });
    await show(job.id, number);
  }

  function stop() {
    request += 1;
    leave();
    say(word("run.cancelled"));
  }

  const { ran } = state.get();
  if (ran) void restore(ran, parts).catch(() => say(word("run.gone")));
  return together(
    listen(start, { click: () => void run() }),
    listen(cancel, { click: stop }),
    () => (request += 1),
    () => leave(),
  );
}

/** The forms of a compilation, with the values that the user gave: they outlive the pane. @type {WeakMap<object, import("./input.js").InputForm[]>} */
const kept = new WeakMap();

/**
 * @param {import("../../server/api.js").Parts} parts
 * @param {import("../../wire.js").Result} result
 */
function formsOf(parts, { inputs, shapes }) {
  const forms = kept.get(parts) ?? inputs.map(({ name, type }) => mountInput(name, type, shapes[name]?.dims));
  kept.set(parts, forms);
  return forms;
}

/** @param {{phase: string, words: string}} data */
function phase({ phase, words }) {
  return hasWord(`run-phase.${phase}`) ? word(`run-phase.${phase}`) : words;
}
