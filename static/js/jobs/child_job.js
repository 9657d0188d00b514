// A job about the compilation that a pane starts, follows to its end, or cancels.
import { ApiError, api, follow } from "../server/api.js";
import { cancelOwn, keepAwaited } from "./waiting.js";

/** @typedef {import("../wire.js").Job} Job */

const AGAIN_MS = 1000;

/**
 * @param {() => Promise<Job>} submit
 * @param {(name: string, data: any, id: string) => void} onEvent called for every event before the terminal event
 * @returns {{id: Promise<string>, done: Promise<Job>, leave: () => void, cancel: () => void}} `done` resolves on success or cancellation
 */
export function childJob(submit, onEvent) {
  let unfollow = () => {};
  let over = false;
  let isCancelled = false;
  /** Ends the waiting for a cancelled job that continues for another client. @type {(job: Job) => void} */
  let stopWaiting = () => {};

  /** @param {Job} job @returns {Promise<Job>} */
  function ended(job) {
    return new Promise((resolve, reject) => {
      stopWaiting = resolve;
      const ask = () => api.job(job.id).then(settle, reject);
      /** @param {Job} now */
      function settle(now) {
        if (now.state === "failed" && now.error) reject(new ApiError(200, now.error));
        else if (now.state === "succeeded" || now.state === "cancelled") resolve(now);
        else setTimeout(listenTo, AGAIN_MS); // the server has no free stream
      }
      function listenTo() {
        unfollow = follow(job.id, (name, data) => {
          if (["finished", "failed", "cancelled", "lost"].includes(name)) void ask();
          else onEvent(name, data, job.id);
        });
      }
      if (job.state === "succeeded") resolve(job);
      else listenTo();
    });
  }

  const submitted = submit();
  const id = submitted.then((job) => job.id);
  id.catch(() => {}); // `done` reports the reason of a refusal
  return {
    id,
    done: submitted.then(ended).finally(() => {
      over = true;
      unfollow();
    }),
    /** Stop listening; the job continues. */
    leave() {
      unfollow();
      if (!over && !isCancelled) void id.then(keepAwaited, () => {});
    },
    cancel() {
      if (over || isCancelled) return;
      isCancelled = true;
      void submitted.then(({ id }) => cancelOwn(id, stopWaiting)).catch(() => {});
    },
  };
}
