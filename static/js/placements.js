// Asking the server to place kernels on a platform: a job of its own, followed to its end.
import { ApiError, api, follow, placementParts } from "./api.js";

/**
 * @typedef {import("./wire.js").Placement} Placement
 * @typedef {import("./wire.js").Placements} Placements
 * @typedef {import("./wire.js").PlaceOptions} PlaceOptions
 */

const AGAIN_MS = 1000;

/** @typedef {import("./work.js").Work} Work */

/**
 * Placements of one compilation, each kind asked for once.
 * @param {string} job that compiled
 * @param {Work} work
 */
export function createPlacements(job, work) {
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
      const placing = startPlacing(() => work.place(job, options));
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
  let stopped = false;
  let over = false;
  /** @type {() => void} */
  let unfollow = () => {};
  let id = "";
  /** @type {Map<string, () => void>} */
  const waiting = new Map();
  /** @type {Set<string>} */
  const ready = new Set();

  /** @returns {Promise<Placements>} */
  async function run() {
    const placing = await submit();
    id = placing.id;
    if (stopped) await api.cancel(id);
    else await new Promise((resolve, reject) => listenTo(() => resolve(undefined), reject));
    return placementParts.all(id);
  }

  /**
   * @param {() => void} resolve
   * @param {(problem: unknown) => void} reject
   */
  function listenTo(resolve, reject) {
    if (stopped) return;
    unfollow = follow(id, (name, data) => {
      if (name === "ready") {
        ready.add(data.part);
        waiting.get(data.part)?.();
      } else if (name === "finished") resolve();
      else if (name === "failed") reject(new ApiError(200, data.error));
      else if (name === "cancelled")
        reject(new ApiError(200, { code: "E-REQUEST-UNKNOWN", message: "it was cancelled" }));
      else if (name === "lost") settle(resolve, reject);
    });
  }

  /**
   * The stream ended without a word: a job that had ended before, or a server that is away.
   * @param {() => void} resolve
   * @param {(problem: unknown) => void} reject
   */
  function settle(resolve, reject) {
    api.job(id).then(({ state, error }) => {
      if (state === "succeeded") resolve();
      else if (error) reject(new ApiError(200, error));
      else setTimeout(() => listenTo(resolve, reject), AGAIN_MS); // the server has no stream free
    }, reject);
  }

  const all = run().finally(() => {
    over = true;
  });
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
      return placementParts.one(id, scheduler);
    },
    stop() {
      stopped = true;
      unfollow();
      if (id && !over) void api.cancel(id).catch(() => {});
    },
  };
}
