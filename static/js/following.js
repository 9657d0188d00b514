// A job that was asked for beside the one that is shown, followed to its end.
import { ApiError, api, follow } from "./api.js";

const AGAIN_MS = 1000;

/**
 * Follows a job until it is over. Errors: why it failed; AbortError when it was cancelled.
 * @param {string} id
 * @param {(name: string, data: any) => void} onEvent
 * @returns {Promise<void>}
 */
export function untilOver(id, onEvent) {
  return new Promise((resolve, reject) => {
    const cancelled = () => reject(new DOMException("cancelled", "AbortError"));
    const listenTo = () =>
      void follow(id, (name, data) => {
        if (name === "finished") resolve();
        else if (name === "failed") reject(new ApiError(200, data.error));
        else if (name === "cancelled") cancelled();
        else if (name === "lost") settle();
        else onEvent(name, data);
      });

    // The stream ended without a word: a job that had ended before, or a server that is away.
    function settle() {
      api.job(id).then(({ state, error }) => {
        if (state === "succeeded") resolve();
        else if (state === "cancelled") cancelled();
        else if (error) reject(new ApiError(200, error));
        else setTimeout(listenTo, AGAIN_MS); // the server has no stream free
      }, reject);
    }
    listenTo();
  });
}
