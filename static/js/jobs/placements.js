// Runs jobs that place kernels on a platform, and follows the jobs to their end.
import { ApiError, api, placementParts } from "../server/api.js";
import { childJob } from "./child_job.js";
import { queuedWords } from "./waiting.js";

/**
 * @typedef {import("../wire.js").Placement} Placement
 * @typedef {import("../wire.js").Placements} Placements
 * @typedef {import("../wire.js").PlaceOptions} PlaceOptions
 */

/** @typedef {import("./beside.js").Findings} Findings */

/** @typedef {ReturnType<typeof startPlacing>} Placing */

/** @type {Promise<import("../wire.js").Platforms> | null} platforms and schedulers, requested once */
let catalogue = null;

export function askPlatforms() {
  catalogue ??= api.platforms().catch((problem) => {
    catalogue = null;
    throw problem;
  });
  return catalogue;
}

/**
 * Return whether every placement job runs this scheduler for comparison.
 * @param {import("../wire.js").Platforms} known
 * @param {string} scheduler
 */
export const isQuick = (known, scheduler) =>
  known.schedulers.find(({ name }) => name === scheduler)?.is_quick ?? false;

/**
 * Running and finished placements with their holders: the pane, the colour overlay, or both.
 * @type {Set<{job: string, options: PlaceOptions, quick: boolean, placing: Placing, holders: Set<object>}>}
 */
const shared = new Set();

/**
 * Create the placements of one compilation for one holder; holders share requests.
 * @param {string} job id of the compilation
 * @param {Findings} findings
 */
export function createPlacements(job, findings) {
  const holder = {};
  const held = () => [...shared].filter(({ holders }) => holders.has(holder));
  return {
    /**
     * Place the kernels with all quick schedulers and the requested scheduler.
     * @param {PlaceOptions} options
     * @param {boolean} quick whether the requested scheduler is quick
     */
    place(options, quick) {
      const { platform, ahead, scheduler } = options;
      const same = [...shared].filter(
        (each) => each.job === job && each.options.platform === platform && each.options.ahead === ahead,
      );
      const serves =
        same.find((each) => each.options.scheduler === scheduler) ??
        same.find((each) => quick && each.quick);
      if (serves) {
        serves.holders.add(holder);
        return serves.placing;
      }
      const placing = startPlacing(() => findings.place(job, options));
      const asked = { job, options, quick, placing, holders: new Set([holder]) };
      shared.add(asked);
      placing.all.catch(() => shared.delete(asked));
      return placing;
    },
    /** Release placements. Placements without holders are cancelled; a later request starts them again. */
    stop() {
      for (const asked of held()) {
        asked.holders.delete(holder);
        if (asked.holders.size) continue;
        shared.delete(asked);
        asked.placing.stop();
      }
    },
    /** Cancel all placements, including placements for other holders. */
    cancel() {
      for (const asked of held()) {
        shared.delete(asked);
        asked.placing.cancel();
      }
    },
  };
}

/** @param {() => Promise<import("../wire.js").Job>} submit */
function startPlacing(submit) {
  /** @type {Map<string, (() => void)[]>} */
  const waiting = new Map();
  /** @type {Set<string>} */
  const ready = new Set();
  let queued = "";
  /** @type {(words: string) => void} */
  let onQueue = () => {};
  const job = childJob(submit, (name, data) => {
    if (name === "queued" || name === "started") onQueue((queued = name === "queued" ? queuedWords(data) : ""));
    if (name !== "ready") return;
    ready.add(data.part);
    for (const go of waiting.get(data.part) ?? []) go();
  });

  /** @returns {Promise<Placements>} */
  async function whole() {
    const { id, state } = await job.done;
    if (state === "cancelled")
      throw new ApiError(200, { code: "E-REQUEST-UNKNOWN", message: "the placement was cancelled" });
    return placementParts.all(id);
  }

  const all = whole();
  return {
    /** All schedules, once the job has ended. */
    all,
    /**
     * Return the schedule of one scheduler, as soon as it exists.
     * @param {string} scheduler
     * @returns {Promise<Placement>}
     */
    async of(scheduler) {
      if (!ready.has(scheduler))
        await Promise.race([
          all,
          new Promise((resolve) =>
            waiting.set(scheduler, [...(waiting.get(scheduler) ?? []), () => resolve(undefined)]),
          ),
        ]);
      const kept = ready.has(scheduler) ? null : await all;
      const refused = kept?.rows.find((row) => row.scheduler === scheduler)?.problem;
      if (refused) throw new ApiError(200, refused);
      return placementParts.one(await job.id, scheduler);
    },
    /**
     * Call a listener with the words about the queue while the job waits, and with "" when it starts.
     * @param {(words: string) => void} listener
     */
    watchQueue(listener) {
      onQueue = listener;
      if (queued) listener(queued);
    },
    cancel: job.cancel,
    stop() {
      job.cancel();
      job.leave();
    },
  };
}
