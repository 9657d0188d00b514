// Runs a job that checks the numbers, and stores its findings in the state.
import { api, follow, numericsParts } from "../server/api.js";
import { LINKED, jobBeside } from "./beside.js";
import { asProblem } from "./compile.js";
import { NOT_CHECKED } from "../state/page.js";
import { cancelOwn, queuedWords } from "./waiting.js";
import { hasWord, word } from "../text/words.js";

/** @typedef {import("../state/page.js").PageState} PageState */

const AGAIN_MS = 1000;

/** @type {WeakMap<PageState, ReturnType<typeof createChecker>>} */
const checkers = new WeakMap();

/**
 * Create the object that runs checks for a state.
 * @param {PageState} state
 */
export function checkerOf(state) {
  const found = checkers.get(state) ?? createChecker(state);
  checkers.set(state, found);
  return found;
}

/** @param {PageState} state */
function createChecker(state) {
  let request = 0;
  let id = "";
  let asking = false;
  let again = false;
  let running = false;
  /** @type {() => void} */
  let unfollow = () => {};
  /** @type {Map<number, Promise<import("../wire.js").CheckedValues>>} */
  const kept = new Map();

  /** Stop receiving events, and cancel a running job. */
  function leave() {
    request += 1;
    unfollow();
    if (id && running) void api.cancel(id).catch(() => {});
    id = "";
    again = false;
    asking = false;
    running = false;
    kept.clear();
  }

  /** @param {Partial<import("../state/page.js").Checking>} patch */
  function move(patch) {
    state.set({ numerics: { ...state.get().numerics, ...patch } });
  }

  /**
   * @param {Exclude<import("../state/page.js").Checking["state"], "" | "running" | "gone">} how
   * @param {Partial<import("../state/page.js").Checking>} [patch]
   */
  function end(how, patch = {}) {
    running = false;
    move({ state: how, words: "", ...patch });
  }

  /** @param {unknown} problem */
  function fail(problem) {
    unfollow();
    end("failed", { problem: asProblem(problem) });
  }

  /** @param {import("./beside.js").Findings} findings */
  async function start(findings) {
    const { parts } = state.get();
    if (!parts) return;
    leave();
    const number = request;
    state.set({
      numerics: { ...NOT_CHECKED, state: "running", words: word("progress.sending") },
      values: null,
      check: "",
    });
    try {
      const job = await findings.check(parts.id);
      if (number !== request) return void api.cancel(job.id).catch(() => {});
      attach(job);
    } catch (problem) {
      if (number === request) fail(problem);
    }
  }

  /** @param {import("../wire.js").Job} known */
  function attach({ id: job, state: how }) {
    id = job;
    const number = request;
    if (how === "succeeded") {
      state.set({ check: job });
      return void refresh(true);
    }
    running = true;
    state.set({ check: job });
    if (state.get().numerics.state !== "running")
      move({ ...NOT_CHECKED, state: "running", words: word("progress.started") });
    unfollow = follow(job, (name, data) => number === request && onEvent(name, data));
  }

  /**
   * @param {string} name
   * @param {any} data
   */
  function onEvent(name, data) {
    if (name === "queued") move({ words: queuedWords(data) });
    else if (name === "phase") {
      const key = `numerics-phase.${data.phase}`;
      move({ words: hasWord(key) ? word(key) : data.words });
    } else if (name === "ready") void refresh();
    else if (name === "finished") void refresh(true);
    else if (name === "failed") void stopped(data.error);
    else if (name === "cancelled") end("cancelled");
    else if (name === "lost") void settle();
  }

  /**
   * Handle a job that exceeded a limit or failed on the model; its findings so far remain.
   * @param {import("../state/page.js").PageProblem} problem
   */
  async function stopped(problem) {
    const number = request;
    if (state.get().numerics.found) await refresh();
    if (number === request) end("failed", { problem });
  }

  /** Handle a stream that ended without a terminal event. */
  async function settle() {
    const number = request;
    try {
      const job = await api.job(id);
      if (number !== request) return;
      if (job.state === "succeeded") return void refresh(true);
      if (job.error) return end("failed", { problem: job.error });
      if (job.state === "cancelled") return end("cancelled");
      setTimeout(() => number === request && attach(job), AGAIN_MS);
    } catch (problem) {
      if (number === request) fail(problem);
    }
  }

  /**
   * Fetch the findings so far. Requests during a pending request are merged into a single
   * further request.
   * @param {boolean} [over] whether the job has ended
   */
  async function refresh(over = false) {
    if (asking && !over) {
      again = true;
      return;
    }
    asking = true;
    const number = request;
    try {
      const found = await numericsParts.all(id);
      if (number !== request) return;
      if (over) end("done", { found });
      else if (state.get().numerics.state === "running") move({ found });
    } catch (problem) {
      if (number === request && over) fail(problem);
    } finally {
      if (number === request) asking = false;
    }
    if (number === request && again) {
      again = false;
      if (!over) void refresh();
    }
  }

  /** Load the values of the current stage. */
  async function load() {
    const { numerics, stage, values } = state.get();
    const wanted = numerics.found?.rows.find((each) => each.stage === stage)?.values_stage ?? null;
    if (wanted === null) return state.set({ values: null });
    if (values?.stage === wanted) return;
    const number = request;
    const asked = kept.get(wanted) ?? numericsParts.values(id, wanted);
    kept.set(wanted, asked);
    try {
      const found = await asked;
      const now = state.get().numerics.found?.rows.find((each) => each.stage === state.get().stage);
      if (number === request && now?.values_stage === wanted) state.set({ values: found });
    } catch {
      kept.delete(wanted); // the table stays empty until the next stage requests values again
    }
  }

  /** Restore the check named in the URL, if the server still keeps it. */
  async function restore() {
    const { check, parts } = state.get();
    const number = ++request;
    if (!parts) return;
    const job = await (check === LINKED ? jobBeside(parts, "check", check) : named(check, parts.id)).catch(() => null);
    if (number !== request) return;
    if (job) attach(job);
    else state.set({ check: "", numerics: { ...NOT_CHECKED, state: "gone" } });
  }

  /**
   * Return the check named in a link, possibly still running; null if it belongs to another compilation.
   * @param {string} check
   * @param {string} compilation
   */
  async function named(check, compilation) {
    const job = await api.job(check);
    return "job" in job.request && job.kind === "check" && job.request.job === compilation ? job : null;
  }

  state.watch(["parts"], ({ parts, check }) => {
    leave();
    if (parts && check) void restore();
  });
  state.watch(["numerics", "stage"], () => void load());

  return {
    start,
    /** Cancel the check and keep its findings so far. */
    cancel() {
      if (!id) {
        leave(); // the answer to the request has no id yet: the job is cancelled as soon as it has
        return end("cancelled");
      }
      const number = request;
      void cancelOwn(id, () => {
        if (number !== request) return;
        unfollow();
        end("cancelled");
      });
    },
  };
}
