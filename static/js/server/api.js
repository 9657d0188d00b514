// Requests to the server: a function for each route of docs/wire.md, except the routes that start jobs
// (work.js). Answers about a finished job are cached.
import { answerTo } from "./answers.js";
import { applyDelta } from "../results/deltas.js";
import { readAnswer } from "./reading.js";
import { ownGraphs } from "../results/stages.js";

/**
 * @typedef {import("../state/page.js").PageProblem} Problem
 * @typedef {import("../wire.js").Job} Job
 */

import { word } from "../text/words.js";

const ROOT = "/api/v1";

/** An error that the server returned instead of a result. */
export class ApiError extends Error {
  /**
   * @param {number} status HTTP status, 0 if the server was unreachable
   * @param {Problem} problem
   */
  constructor(status, problem) {
    super(problem.message);
    this.status = status;
    this.problem = problem;
  }
}

/** Answers embedded in the page, which then needs no server. @type {Map<string, any> | null} */
let kept = null;

/**
 * Use embedded answers, by path below a job, or below the API if the path begins with "/".
 * @param {string} job
 * @param {Record<string, unknown>} answers
 */
export function keepAnswers(job, answers) {
  const whole = (/** @type {string} */ path) => path.startsWith("/") ? path : `/jobs/${job}/${path}`;
  kept = new Map(Object.entries(answers).map(([path, each]) => [whole(path), each]));
}

/**
 * Request an answer. Answers about jobs may be large: a worker parses them, so the page stays responsive.
 * @template T
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<T>}
 */
async function ask(path, init) {
  if (kept) {
    if (kept.has(path)) return kept.get(path);
    const message = word("report.not-here", { what: path.replace(/^\/jobs\/\w+\/|\?.*/g, "") });
    throw new ApiError(404, { code: "E-RESULT-ABSENT", message });
  }
  let answer;
  try {
    const isMade = path.startsWith("/jobs/") && init === undefined;
    answer = await (isMade ? readAnswer(ROOT + path) : answerTo(ROOT + path, init));
  } catch {
    throw new ApiError(0, {
      code: "E-SERVER-AWAY",
      message: "the server did not answer",
      hint: "check that the server is running, then try again",
    });
  }
  return accepted(answer.status, answer.payload);
}

/**
 * @param {number} status
 * @param {string} text
 * @returns {any}
 */
function unpack(status, text) {
  let payload;
  try {
    payload = JSON.parse(text);
  } catch {
    payload = undefined;
  }
  return accepted(status, payload);
}

/**
 * Return the payload of an answer. Errors: ApiError if the answer is an error or unreadable.
 * @param {number} status
 * @param {any} payload undefined for an answer that is not JSON
 * @returns {any}
 */
function accepted(status, payload) {
  if (payload === undefined)
    throw new ApiError(status, {
      code: "E-SERVER-ANSWER",
      message: `the server answered ${status} without JSON`,
    });
  if (status >= 400)
    throw new ApiError(status, payload.error ?? { code: `HTTP ${status}`, message: "" });
  return payload;
}

/**
 * @template T
 * @param {string} path
 * @param {unknown} body
 * @returns {Promise<T>}
 */
export function post(path, body) {
  return ask(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

/**
 * Request an answer of a route, for the pages of the course.
 * @template T
 * @param {string} path
 * @returns {Promise<T>}
 */
export const asked = (path) => ask(path);

export const api = {
  /** @returns {Promise<import("../wire.js").About>} */
  about: () => ask("/about"),
  /** @returns {Promise<import("../wire.js").Sandbox>} */
  sandbox: () => ask("/sandbox"),
  /** @returns {Promise<{samples: import("../wire.js").Sample[]}>} */
  samples: () => ask("/samples"),
  /** @returns {Promise<import("../wire.js").Pipelines>} */
  pipelines: () => ask("/pipelines"),
  /** The pipelines without rules, steps and examples. @returns {Promise<import("../wire.js").Pipelines>} */
  outline: () => ask("/pipelines?outline=1"),
  /** @returns {Promise<{operators: import("../wire.js").OperatorInfo[]}>} */
  operators: () => ask("/operators"),
  /** @type {(text: string) => Promise<{text: string}>} */
  checkPipeline: (text) => post("/pipelines/check", { text }),
  /** @type {() => Promise<import("../wire.js").Writing>} */
  writing: () => ask("/texts"),
  /** @type {(language: string, text: string) => Promise<import("../wire.js").CheckedText>} */
  checkText: (language, text) => post("/texts/check", { language, text }),
  /** @type {() => Promise<import("../wire.js").Platforms>} */
  platforms: () => ask("/platforms"),
  /** @type {() => Promise<import("../wire.js").Moves>} */
  moves: () => ask("/moves"),
  /** @type {(job: string) => Promise<import("../wire.js").Profile>} */
  profile: (job) => ask(`/jobs/${encodeURIComponent(job)}/profile`),
  /** @type {(job: string) => Promise<import("../wire.js").Comparison>} */
  comparison: (job) => ask(`/jobs/${encodeURIComponent(job)}/comparison`),
  /** @type {() => Promise<import("../wire.js").Peers>} */
  peers: () => ask("/peers"),
  /** @type {(job: string) => Promise<import("../wire.js").PeerComparison>} */
  peerComparison: (job) => ask(`/jobs/${encodeURIComponent(job)}/peer`),
  /** @type {(job: string) => Promise<import("../wire.js").RunResult>} */
  run: (job) => ask(`/jobs/${encodeURIComponent(job)}/run`),
  /** @type {(job: string, output: number) => string | undefined} undefined without a server */
  runOutputAddress: (job, output) => kept ? undefined : `${ROOT}/jobs/${encodeURIComponent(job)}/run/outputs/${output}`,
  /** @type {(job: string) => string | undefined} undefined without a server */
  traceAddress: (job) => kept ? undefined : `${ROOT}/jobs/${encodeURIComponent(job)}/profile/trace`,
  /** @type {(job: string) => string | undefined} undefined without a server */
  reducedAddress: (job) => kept ? undefined : `${ROOT}/jobs/${encodeURIComponent(job)}/bisect/file`,
  /** @type {(id: string) => Promise<import("../wire.js").Upload>} */
  uploaded: (id) => ask(`/uploads/${encodeURIComponent(id)}`),
  /** @type {(fragment: string) => Promise<import("../wire.js").SharedLink>} */
  link: (fragment) => post("/links", { fragment }),
  /** @type {(id: string) => Promise<Job>} */
  job: (id) => ask(`/jobs/${encodeURIComponent(id)}`),
  /** @type {(id: string) => Promise<Job>} */
  cancel: (id) => ask(`/jobs/${encodeURIComponent(id)}`, { method: "DELETE" }),
};

/**
 * Upload a file and report progress. Errors: ApiError; AbortError when aborted.
 * @param {File} file
 * @param {(share: number) => void} onProgress called with a share between 0 and 1
 * @param {AbortSignal} signal
 * @returns {Promise<import("../wire.js").Upload>}
 */
export function upload(file, onProgress, signal) {
  return new Promise((resolve, reject) => {
    // `fetch` reports no progress of a request body.
    const request = new XMLHttpRequest();
    request.open("POST", `${ROOT}/uploads?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) =>
      event.lengthComputable && onProgress(event.loaded / event.total);
    request.onerror = () =>
      reject(
        new ApiError(0, {
          code: "E-SERVER-AWAY",
          message: "the upload was interrupted",
          hint: "try again",
        }),
      );
    request.onabort = () => reject(new DOMException("upload cancelled", "AbortError"));
    request.onload = () => {
      try {
        resolve(unpack(request.status, request.responseText));
      } catch (problem) {
        reject(problem);
      }
    };
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

/** Results of a placement job. */
export const placementParts = {
  /** @type {(id: string) => Promise<import("../wire.js").Placements>} */
  all: (id) => ask(`/jobs/${encodeURIComponent(id)}/placements`),
  /** @type {(id: string, scheduler: string) => Promise<import("../wire.js").Placement>} */
  one: (id, scheduler) =>
    ask(`/jobs/${encodeURIComponent(id)}/placements/${encodeURIComponent(scheduler)}`),
};

/**
 * Return the trials of a tuning job so far.
 * @param {string} id
 * @returns {Promise<import("../wire.js").Tuning>}
 */
export const tuningPart = (id) => ask(`/jobs/${encodeURIComponent(id)}/tuning`);

/**
 * Return a kernel with its original and an edited schedule: the results of the job so far.
 * @param {string} id
 * @returns {Promise<import("../wire.js").EditedKernel>}
 */
export const editedKernel = (id) => ask(`/jobs/${encodeURIComponent(id)}/schedules`);

/**
 * Return facts about the ONNX file written by an export job.
 * @param {string} id
 * @returns {Promise<import("../wire.js").ExportedModel>}
 */
export const exportedModel = (id) => ask(`/jobs/${encodeURIComponent(id)}/onnx`);
export const exportedFile = (/** @type {string} */ id) =>
  `${ROOT}/jobs/${encodeURIComponent(id)}/onnx/file`;

/** A kernel's code for other targets, generated by a targets job. */
export const targetParts = {
  /** @type {(id: string) => Promise<import("../wire.js").Targets>} */
  all: (id) => ask(`/jobs/${encodeURIComponent(id)}/targets`),
  /** @type {(id: string, target: string) => Promise<import("../wire.js").TargetCode>} */
  one: (id, target) =>
    ask(`/jobs/${encodeURIComponent(id)}/targets/${encodeURIComponent(target)}`),
};

/**
 * Return the findings of a bisection job so far.
 * @param {string} id
 * @returns {Promise<import("../wire.js").Bisection>}
 */
export const bisection = (id) => ask(`/jobs/${encodeURIComponent(id)}/bisect`);

/** Findings of a checking job. */
export const numericsParts = {
  /** Return the findings so far, which are never cached. @type {(id: string) => Promise<import("../wire.js").Numerics>} */
  all: (id) => ask(`/jobs/${encodeURIComponent(id)}/numerics`),
  /** @type {(id: string, stage: number) => Promise<import("../wire.js").CheckedValues>} */
  values: (id, stage) => ask(`/jobs/${encodeURIComponent(id)}/numerics/${stage}`),
};

const TERMINAL = ["finished", "failed", "cancelled"];
const EVENTS = ["queued", "started", "phase", "imported", "pass", "ready", "round", ...TERMINAL];

/**
 * Follow a job until its terminal event. Late subscribers receive every event from the start.
 * @param {string} id
 * @param {(name: string, data: any) => void} onEvent called with "lost" if the server no longer has the job
 * @returns {() => void}
 */
export function follow(id, onEvent) {
  const source = new EventSource(`${ROOT}/jobs/${encodeURIComponent(id)}/events`);
  for (const name of EVENTS) {
    source.addEventListener(name, (event) => {
      if (TERMINAL.includes(name)) source.close();
      onEvent(name, JSON.parse(/** @type {MessageEvent} */ (event).data));
    });
  }
  source.onerror = () => {
    // The browser reconnects automatically; if the stream is closed, it was refused or has ended.
    if (source.readyState === EventSource.CLOSED) onEvent("lost", {});
  };
  return () => source.close();
}

/**
 * Create the parts of a job's result; each part is requested once.
 * @param {string} id
 */
export function createParts(id) {
  /** @type {Map<string, Promise<any>>} */
  const kept = new Map();
  /**
   * @param {string} path
   * @param {string} [key] cache key, when the path alone is ambiguous
   * @returns {Promise<any>}
   */
  function once(path, key = path) {
    const have = kept.get(key);
    if (have) return have;
    const asked = ask(`/jobs/${encodeURIComponent(id)}/${path}`);
    kept.set(key, asked);
    asked.catch(() => kept.delete(key));
    return asked;
  }
  /** @type {number[]} stages with their own graph, by the last summary */
  let chain = [];
  /** @type {Map<number, Promise<import("../wire.js").StageGraph>>} */
  const graphs = new Map();
  /**
   * Return the graph of a stage, built from the deltas up to this stage, which are requested together.
   * @param {number} stage
   * @returns {Promise<import("../wire.js").StageGraph>}
   */
  function graph(stage) {
    const have = graphs.get(stage);
    if (have) return have;
    const delta = once(`stages/${stage}/delta`);
    const place = chain.indexOf(stage);
    const before = place > 0 ? graph(chain[place - 1]) : Promise.resolve(null);
    const made = Promise.all([before, delta]).then(([old, each]) => applyDelta(old, each));
    graphs.set(stage, made);
    made.catch(() => graphs.delete(stage));
    return made;
  }
  return {
    id,
    /** Return the summary, which is never cached, since it grows while the job runs. @returns {Promise<import("../wire.js").Result>} */
    async result() {
      /** @type {import("../wire.js").Result} */
      const result = await ask(`/jobs/${encodeURIComponent(id)}/result`);
      chain = ownGraphs(result.stages).map(({ stage }) => stage);
      return result;
    },
    graph,
    /** @type {(stage: number, offset: number, limit: number) => Promise<import("../wire.js").Steps>} */
    steps: (stage, offset, limit) => once(`stages/${stage}/steps?offset=${offset}&limit=${limit}`),
    /** @type {(stage: number) => Promise<import("../wire.js").StageText>} */
    text: (stage) => once(`stages/${stage}/text`),
    /** @type {(stage: number, against: number, context: number) => Promise<import("../wire.js").StageDiff>} */
    diff: (stage, against, context) =>
      once(`stages/${stage}/diff?against=${against}&context=${context}`),
    /**
     * Return the union of all stages so far; a running job adds more.
     * @type {(stages: number) => Promise<import("../wire.js").Union>}
     */
    union: (stages) => once("union", `union ${stages}`),
    /** @type {(kernel: number, part: string) => Promise<import("../wire.js").KernelText>} */
    kernel: (kernel, part) => once(`kernels/${kernel}/${part}`),
    /**
     * Return the diff of a kernel at one level against a kernel of another job, which is the old text.
     * @type {(kernel: number, part: string, old: {job: string, kernel: number}, context: number) => Promise<import("../wire.js").KernelDiff>}
     */
    kernelDiff: (kernel, part, old, context) =>
      once(
        `kernels/${kernel}/${part}/diff?against=${encodeURIComponent(old.job)}&kernel=${old.kernel}&context=${context}`,
      ),
    /** @type {(kernel: number) => Promise<import("../wire.js").KernelLinks>} */
    links: (kernel) => once(`kernels/${kernel}/links`),
    /** Return the related jobs, which are never cached, since more jobs may follow. @returns {Promise<import("../wire.js").Beside>} */
    beside: () => ask(`/jobs/${encodeURIComponent(id)}/beside`),
    /** @returns {Promise<import("../wire.js").Neighbours>} */
    neighbours: () => once("neighbours"),
    /** @returns {Promise<import("../wire.js").Provenance>} */
    provenance: () => once("provenance"),
    /** @type {(what: string) => string | undefined} undefined without a server */
    downloadAddress: (what) => kept ? undefined : `${ROOT}/jobs/${encodeURIComponent(id)}/download/${what}`,
  };
}

/**
 * Download the report of a job. Errors: ApiError; AbortError when aborted.
 * @param {string} id
 * @param {string} fragment initial view
 * @param {AbortSignal} signal
 * @returns {Promise<Blob>}
 */
export async function reportOf(id, fragment, signal) {
  const query = new URLSearchParams({ fragment });
  const response = await fetch(`${ROOT}/jobs/${encodeURIComponent(id)}/report?${query}`, { signal });
  if (response.ok) return response.blob();
  return unpack(response.status, await response.text());
}

/** @typedef {ReturnType<typeof createParts>} Parts */
