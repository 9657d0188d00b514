// Asks the worker for layouts; one at a time, and any can be given up.

/**
 * @typedef {import("./dot_layout.js").Layout} Layout
 * @typedef {{layouts: Layout[], seconds: number}} Placed
 * @typedef {{promise: Promise<Placed>, cancel: () => void}} Request
 */

export class LayoutCancelled extends Error {}

/**
 * @typedef {{warm: () => void, layout: (dots: string[]) => Request, stop: () => void}} Layouter
 */

/**
 * @param {string} workerUrl
 * @param {WorkerType} [type] "classic" where the worker is text in a file: such pages have no origin
 * @returns {Layouter}
 */
export function createLayouter(workerUrl, type = "module") {
  /** @type {Worker | null} */
  let worker = null;
  let count = 0;
  /** @type {((problem: Error) => void) | null} */
  let giveUp = null;

  const started = () => (worker ??= new Worker(workerUrl, { type }));

  function stop() {
    // A layout under way can only be ended with its worker.
    worker?.terminate();
    worker = null;
    giveUp?.(new LayoutCancelled());
    giveUp = null;
  }

  return {
    stop,
    /** Has the engine loaded, for a layout that will be asked for soon. */
    warm: () => started().postMessage({ id: 0 }),
    layout(dots) {
      if (giveUp) stop();
      const id = ++count;
      const current = started();
      const promise = new Promise((/** @type {(placed: Placed) => void} */ resolve, reject) => {
        giveUp = reject;
        current.onmessage = ({ data }) => {
          if (data.id !== id) return;
          giveUp = null;
          if (data.problem !== undefined) reject(new Error(data.problem));
          else resolve({ layouts: data.layouts, seconds: data.seconds });
        };
        current.onerror = (event) => {
          giveUp = null;
          reject(new Error(event.message || "the layout worker stopped"));
        };
        current.postMessage({ id, dots });
      });
      return { promise, cancel: () => id === count && stop() };
    },
  };
}
