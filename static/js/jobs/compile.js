// Compiles: submits the job, follows its events, fetches the result, and restores it after a reload.
import { ApiError, api, createParts, follow, upload } from "../server/api.js";
import { IDLE, NO_RESULT } from "../state/page.js";
import { enabledPipeline, parsePipeline } from "../text/pipeline_text.js";
import { isNewcomer } from "../state/newcomer.js";
import { clampStage, mostSaved } from "../results/stages.js";
import { parseDims, wrongSizes } from "../text/sizes.js";
import { cancelOwn, queuedWords } from "./waiting.js";
import { hasWord, word } from "../text/words.js";
import { splitText } from "../text/writing.js";

/**
 * @typedef {import("../state/page.js").PageState} PageState
 * @typedef {import("../wire.js").JobRequest} JobRequest
 */

/** State of the walk that a new result resets. */
const FRESH_LOOK = {
  selection: /** @type {string[]} */ ([]),
  at: "",
  kernel: -1,
  line: "",
  step: "",
  pair: "",
  base: -1,
  open: /** @type {string[]} */ ([]),
  unfolded: /** @type {string[]} */ ([]),
  off: /** @type {string[]} */ ([]),
  candidates: 0,
  measured: "",
  ran: "",
  within: "",
  camera: null,
  tour: 0,
};

/** Delays before a stream that was refused or has ended is requested again. */
const AGAIN_MS = 1000;
const AGAIN_MOST_MS = 8000;

/** Progress of a job at the start of each phase, as a share; each pass increases the progress. */
const SHARES = {
  read: 0.04,
  passes: 0.12,
  code: 0.5,
  measure: 0.75,
  listing: 0.85,
  check: 0.9,
  accuracy: 0.95,
  links: 0.98,
};

/**
 * Return the compile request for a state of the page. Errors: ApiError for sizes that are not numbers.
 * @param {import("../state/url.js").Place} place
 * @returns {JobRequest}
 */
export function requestFor(place) {
  const cut = place.model.indexOf(":");
  const id = place.model.slice(cut + 1);
  /** @type {Record<string, number[]>} */
  const shapes = {};
  for (const [name, text] of Object.entries(place.shapes)) {
    const dims = parseDims(text);
    // The page refuses such a text before it compiles; only the link of another page can contain it.
    if (!dims) throw new ApiError(400, { code: "E-INPUT-SHAPE", message: word("shapes.link", { name, text }) });
    if (dims.length) shapes[name] = dims;
  }
  return {
    kind: "compile",
    model: place.model.startsWith("upload:") ? { upload: id } : { sample: id },
    pipeline: place.pipeline === "" ? "default" : enabledPipeline(parsePipeline(place.pipeline)),
    shapes,
    options: { precision: place.precision, threads: place.threads },
    ...(place.without.length ? { without: place.without } : {}),
    ...(place.tuned ? { tuned: place.tuned } : {}),
  };
}

/**
 * Return the compile request after the upload of a written model; the file name gives the language.
 * @param {import("../state/url.js").Place} place
 * @returns {Promise<JobRequest>}
 */
export async function sentRequest(place) {
  const wanted = requestFor(place);
  if (place.model !== "written") return wanted;
  const { language, text } = splitText(place.written);
  const file = new File([text], `${word("write.name")}.${language}`);
  const sent = await upload(file, () => {}, new AbortController().signal);
  return { ...wanted, model: { upload: sent.id } };
}

/**
 * Submit the request of a link. If the job that found the tuned schedules was evicted, use the
 * policy's schedules instead, and report this by `note`.
 * @param {import("../server/work.js").Work["submit"]} submit
 * @param {JobRequest} request
 * @param {(words: string) => void} note
 */
export async function submitLinked(submit, request, note) {
  try {
    return await submit(request, true);
  } catch (problem) {
    if (!request.tuned || !(problem instanceof ApiError) || ![404, 409].includes(problem.status))
      throw problem;
    note(word("tuning.lost"));
    return submit({ ...request, tuned: "" }, true);
  }
}

/**
 * @param {unknown} problem
 * @returns {import("../state/page.js").PageProblem}
 */
export function asProblem(problem) {
  if (problem instanceof ApiError) return problem.problem;
  return { code: "E-PAGE", message: problem instanceof Error ? problem.message : String(problem) };
}

/**
 * @param {PageState} state
 * @param {import("../server/work.js").Work["submit"]} submit
 * @param {(words: string) => void} [note] reports the parts of a link that could not be restored
 */
export function createCompiler(state, submit, note = () => {}) {
  let request = 0;
  let losses = 0;
  /** @type {() => void} */
  let unfollow = () => {};
  /** Whether the model of a link is being compiled: the linked stage exists only at the end. */
  let restoring = false;
  /** Whether the walk still has to open at the change that mattered most, and whether all passes have ended. */
  let opening = false;
  let passesEnded = false;

  /** @param {string} words */
  function lost(words) {
    state.set({ tuned: "" });
    note(words);
  }

  /** Stop receiving events, and cancel a job whose result is not shown. */
  function leave() {
    request += 1;
    unfollow();
    const { progress, job } = state.get();
    if (progress.state !== "" && job) void api.cancel(job).catch(() => {});
    if (progress.state !== "") state.set({ progress: IDLE });
  }

  /**
   * Submit the compile request of the page's state; a link may reuse an earlier result.
   * @param {boolean} ofLink
   * @returns {Promise<void>}
   */
  async function start(ofLink = false) {
    const wrong = ofLink ? null : wrongSizes(state.get());
    if (wrong) {
      const message = word("shapes.wrong", { name: wrong.name, why: word(wrong.key, wrong.values) });
      return state.set({ problem: { code: "E-INPUT-SHAPE", message } });
    }
    leave();
    const number = request;
    restoring = ofLink;
    opening = !ofLink;
    passesEnded = false;
    state.set({
      ...NO_RESULT,
      job: "",
      // A new compilation resets disabled rules, tuned schedules and measurements; a link names all three.
      ...(ofLink ? {} : { without: [], tuned: "", measured: "", ran: "" }),
      problem: null,
      partial: 0,
      progress: { ...IDLE, state: "sending", words: word("progress.sending") },
    });
    try {
      const wanted = await sentRequest(state.get());
      const job = await (ofLink ? submitLinked(submit, wanted, lost) : submit(wanted));
      if (number !== request) return void api.cancel(job.id).catch(() => {});
      watch(job.id, number);
    } catch (problem) {
      if (number === request) fail(asProblem(problem), 0);
    }
  }

  /**
   * @param {string} id
   * @param {number} number
   */
  function watch(id, number) {
    state.set({ job: id });
    unfollow = follow(id, (name, data) => number === request && onEvent(id, name, data));
  }

  /**
   * @param {string} id
   * @param {string} name
   * @param {any} data
   */
  function onEvent(id, name, data) {
    if (name === "lost") return void settle(id);
    losses = 0;
    const { progress } = state.get();
    const move = (/** @type {Partial<import("../state/page.js").Progress>} */ patch) =>
      state.set({ progress: { ...progress, ...patch } });
    if (name === "queued")
      move({ state: "queued", words: queuedWords(data) });
    else if (name === "started")
      move({ state: "running", words: word("progress.started"), passes: [] });
    else if (name === "phase") {
      const share = SHARES[/** @type {keyof typeof SHARES} */ (data.phase)] ?? progress.share;
      move({
        words: hasWord(`phase.${data.phase}`) ? word(`phase.${data.phase}`) : data.words,
        share: Math.max(share, progress.share),
      });
      // The passes have ended: their stages can be walked during code generation.
      if (data.phase === "code") passesEnded = true;
      if (data.phase === "code" && state.get().result) void show(id);
    } else if (name === "imported") {
      move({ words: word("progress.imported", { n: data.n_nodes }), share: SHARES.passes });
      if (!restoring) {
        // Request the parts of the first drawing now, not when the views mount.
        const parts = createParts(id);
        for (const part of [parts.graph(0), parts.union(1)]) part.catch(() => {});
        void show(id, parts);
      }
    } else if (name === "pass") {
      const passes = [...progress.passes, data];
      const total = Math.max(passes.length, countPasses(state.get().pipeline));
      move({
        passes,
        words: word("progress.pass", { name: data.name }),
        share: SHARES.passes + (SHARES.code - SHARES.passes) * (passes.length / total),
      });
    } else if (name === "ready") {
      state.set({ ready: [...state.get().ready, data.part] });
      if ((data.part === "code" && !restoring) || state.get().result) void show(id);
    } else if (name === "finished") void show(id);
    else if (name === "failed" && (state.get().result || (restoring && data.n_stages > 0)))
      void show(id);
    else if (name === "failed") fail(data.error, data.n_stages);
    else if (name === "cancelled" && state.get().result) void show(id);
    else if (name === "cancelled") state.set({ progress: IDLE, job: "" });
  }

  /**
   * Request the state of the job after its stream ended early or was refused. Partial
   * results are shown in any case.
   * @param {string} id
   */
  async function settle(id) {
    const number = request;
    try {
      const job = await api.job(id);
      if (number !== request) return;
      if (job.state === "succeeded") return void show(id);
      if (job.state === "failed")
        return fail(job.error ?? { code: "E-JOB", message: "" }, job.n_stages);
      if (job.state === "cancelled") return state.set({ progress: IDLE, job: "" });
      if (job.n_stages > 0) void show(id);
      const wait = Math.min(AGAIN_MOST_MS, AGAIN_MS * 2 ** losses++);
      setTimeout(() => number === request && watch(id, number), wait);
    } catch (problem) {
      if (number === request) fail(asProblem(problem), 0);
    }
  }

  /**
   * @param {import("../state/page.js").PageProblem} problem
   * @param {number} partial
   */
  function fail(problem, partial) {
    unfollow();
    state.set({ progress: IDLE, problem, partial });
  }

  /**
   * Fetch and show a result, or refresh the result shown.
   * @param {string} id
   * @param {import("../server/api.js").Parts} [asked] parts already requested
   */
  async function show(id, asked) {
    const number = request;
    const known = state.get().parts;
    const parts = known?.id === id ? known : (asked ?? createParts(id));
    // An answer requested before the passes ended may lack stages, even if it arrives afterwards.
    const hasAllStages = passesEnded;
    try {
      const result = await parts.result();
      if (number !== request) return;
      const { stage, screen, progress } = state.get();
      const walking = screen === "walk";
      state.set({
        screen: "walk",
        left: null,
        job: id,
        parts,
        result,
        stage: stageToShow(result, walking ? clampStage(result.stages, stage) : 0, hasAllStages),
        progress: result.state === "running" ? progress : IDLE,
        problem: result.error,
        ...(walking ? {} : { ...FRESH_LOOK, invited: isNewcomer() }),
        ...backToModel(result, state.get()),
      });
      if (state.get().provenance || (!result.complete && !result.kernels.length)) return;
      const provenance = await parts.provenance();
      if (number === request) state.set({ provenance });
    } catch (problem) {
      // A job that failed before code generation has no provenance; the walk works without provenance.
      if (number === request && !state.get().result) fail(asProblem(problem), 0);
    }
  }

  /**
   * Return the stage to show: once after a new compilation, the change that mattered most, unless the
   * reader has already gone elsewhere.
   * @param {import("../wire.js").Result} result
   * @param {number} stage
   * @param {boolean} hasAllStages
   */
  function stageToShow(result, stage, hasAllStages) {
    const { selection, at, tour } = state.get();
    if (!opening || (!hasAllStages && result.state === "running")) return stage;
    opening = false;
    const isUntouched = stage === 0 && selection.length === 0 && at === "" && tour === 0;
    return isUntouched && !result.error ? mostSaved(result.stages) : stage;
  }

  return {
    start,
    show,
    leave,
    /** Cancel the running job and keep its results so far. */
    halt() {
      const { job } = state.get();
      const number = request;
      if (job)
        void cancelOwn(job, () => {
          if (number !== request) return;
          unfollow();
          request += 1;
          state.set({ progress: IDLE });
        });
    },
    /** Discard the running job. */
    cancel() {
      leave();
      state.set({ job: "" });
    },
    /** Restore the job named in the URL, or start a new job if the server has evicted it. */
    async restore() {
      const { job, model } = state.get();
      state.set({ progress: { ...IDLE, state: "running", words: word("progress.restoring") } });
      try {
        if (!job) throw new ApiError(404, { code: "E-REQUEST-UNKNOWN", message: "" });
        const { state: known, error, n_stages, request: asked } = await api.job(job);
        const { without = [], tuned = "" } = /** @type {import("../wire.js").JobRequest} */ (asked);
        state.set({ without, tuned });
        if (known === "succeeded") await show(job);
        else if (known === "failed" && n_stages > 0) await show(job);
        else if (known === "failed") fail(error ?? { code: "E-JOB", message: "" }, 0);
        else if (known === "cancelled") await start(true);
        else watch(job, request);
      } catch (problem) {
        if (problem instanceof ApiError && problem.status === 404 && model) await start(true);
        else fail(asProblem(problem), 0);
      }
    },
  };
}

/** @param {string} pipeline */
function countPasses(pipeline) {
  return pipeline === "" ? 12 : parsePipeline(pipeline).filter((row) => row.on).length;
}

/**
 * Add the model and pipeline of a job's request to a link that names only the job.
 * @param {import("../wire.js").Result} result
 * @param {import("../state/url.js").Place} place
 * @returns {Partial<import("../state/url.js").Place>}
 */
function backToModel(result, place) {
  if (place.model !== "") return {};
  return { model: `${result.model.source}:${result.model.id}`, pipeline: result.pipeline };
}

/** @typedef {ReturnType<typeof createCompiler>} Compiler */
