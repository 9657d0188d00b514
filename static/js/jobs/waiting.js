// Jobs that wait in the queue, and jobs that a page awaits without following their events.
import { api } from "../server/api.js";
import { word } from "../text/words.js";

/** @typedef {import("../wire.js").Job} Job */

/** Interval of the questions about a job; the server cancels a job that no client follows or asks about. */
const AWAITED_MS = 6000;

/** @param {Pick<Job, "state">} job */
export const isOver = ({ state }) => !["queued", "running"].includes(state);

/**
 * Return the place of a job in the queue, with the estimated waiting time if it is known.
 * @param {Pick<import("../wire.js").QueuedEvent, "position" | "wait_s">} event
 */
export function queuedWords({ position, wait_s }) {
  if (wait_s === null || wait_s === undefined) return word("progress.queued", { n: position });
  return word("progress.queued-time", { n: position, time: Math.max(1, Math.ceil(wait_s)) });
}

/**
 * Keep a job alive that the page no longer follows, but whose result it may show later.
 * @param {string} id
 */
export async function keepAwaited(id) {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, AWAITED_MS));
    const job = await api.job(id).catch(() => null);
    if (!job || isOver(job)) return;
  }
}

/**
 * Cancel a job, and call `onLeft` if it continues because another client awaits it.
 * @param {string} id
 * @param {(job: Job) => void} onLeft
 */
export async function cancelOwn(id, onLeft) {
  const job = await api.cancel(id).catch(() => null);
  if (job && !isOver(job)) onLeft({ ...job, state: "cancelled" });
}
