// Asking the server to place kernels on a platform: a job of its own, followed to its end.
import { ApiError, placementParts } from "./api.js";
import { childJob } from "./child_job.js";

/**
 * @typedef {import("./wire.js").Placement} Placement
 * @typedef {import("./wire.js").Placements} Placements
 * @typedef {import("./wire.js").PlaceOptions} PlaceOptions
 */

/** @typedef {import("./beside.js").Findings} Findings */

/**
 * Placements of one compilation, each kind asked for once.
 * @param {string} job that compiled
 * @param {Findings} findings
 */
export function createPlacements(job, findings) {
  /** @type {Map<string, ReturnType<typeof startPlacing>>} */
  const asked = new Map();
  return {
    /**
     * What all quick schedulers make of it, and the one that is wanted.
     * @param {PlaceOptions} options
     * @param {boolean} quick whether the wanted scheduler is one of the quick ones
     */
    place(options, quick) {
      const key = [options.platform, options.ahead, quick || options.scheduler].join(" ");
      const have = asked.get(key);
      if (have) return have;
      const placing = startPlacing(() => findings.place(job, options));
      asked.set(key, placing);
      placing.all.catch(() => asked.delete(key));
      return placing;
    },
    /** Ends what nobody waits for any more; what is asked for again starts anew. */
    stop() {
      for (const placing of asked.values()) placing.stop();
      asked.clear();
    },
  };
}

/** @param {() => Promise<import("./wire.js").Job>} submit */
function startPlacing(submit) {
  /** @type {Map<string, () => void>} */
  const waiting = new Map();
  /** @type {Set<string>} */
  const ready = new Set();
  const job = childJob(submit, (name, data) => {
    if (name !== "ready") return;
    ready.add(data.part);
    waiting.get(data.part)?.();
  });

  /** @returns {Promise<Placements>} */
  async function whole() {
    const { id, state } = await job.done;
    if (state === "cancelled")
      throw new ApiError(200, { code: "E-REQUEST-UNKNOWN", message: "it was cancelled" });
    return placementParts.all(id);
  }

  const all = whole();
  return {
    /** All of them side by side, when the job has ended. */
    all,
    /**
     * The schedule of one, as soon as it is there.
     * @param {string} scheduler
     * @returns {Promise<Placement>}
     */
    async of(scheduler) {
      if (!ready.has(scheduler))
        await Promise.race([
          all,
          new Promise((resolve) => waiting.set(scheduler, () => resolve(undefined))),
        ]);
      const kept = ready.has(scheduler) ? null : await all;
      const refused = kept?.rows.find((row) => row.scheduler === scheduler)?.problem;
      if (refused) throw new ApiError(200, refused);
      return placementParts.one(await job.id, scheduler);
    },
    stop() {
      job.leave();
      job.cancel();
    },
  };
}
