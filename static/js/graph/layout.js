// Requests layouts from the worker, one drawing at a time; each request can be cancelled.

/**
 * @typedef {import("./dot_layout.js").Layout} Layout
 * @typedef {import("../wire.js").Union} Union
 * @typedef {{layouts: Map<string, Layout>, seconds: number}} Placed
 *   `layouts` by key of the group, "" for the whole drawing
 *
 * @typedef {object} Asked a request to the worker
 * @property {import("./nesting.js").Levels} union
 * @property {Set<string>} open
 * @property {boolean} afresh whether to discard earlier layouts
 */

export class LayoutCancelled extends Error {}

/** Number of levels whose layouts are cached. */
const KEPT_LEVELS = 3000;

/**
 * @typedef {object} Layouter
 * @property {(isEarly: boolean) => void} warm loads the engine; an early call also warms it up
 * @property {(union: Union, open: Set<string>) => Promise<Placed>} layout
 * @property {() => void} stop cancels the pending layout
 */

/**
 * @param {string} workerUrl
 * @param {WorkerType} [type] "classic" if the page is a file that contains the worker as text: such pages have no origin
 * @returns {Layouter}
 */
export function createLayouter(workerUrl, type = "module") {
  /** @type {Worker | null} */
  let worker = null;
  /** Layouts of the worker, in its order. @type {Layout[]} */
  let kept = [];
  let count = 0;
  /** @type {((problem: Error) => void) | null} */
  let giveUp = null;

  function started() {
    if (!worker) {
      worker = new Worker(workerUrl, { type });
      kept = [];
    }
    return worker;
  }

  function stop() {
    if (!giveUp) return;
    // Only terminating the worker stops a running layout.
    worker?.terminate();
    worker = null;
    giveUp(new LayoutCancelled());
    giveUp = null;
  }

  return {
    stop,
    warm: (isEarly) => void (worker || started().postMessage({ id: 0, isEarly })),
    layout({ dot, groups }, open) {
      stop();
      const id = ++count;
      const current = started();
      const afresh = kept.length > KEPT_LEVELS;
      if (afresh) kept = [];
      return new Promise((/** @type {(placed: Placed) => void} */ resolve, reject) => {
        giveUp = reject;
        current.onmessage = ({ data }) => {
          if (data.id !== id) return;
          if (data.layout) return void kept.push(data.layout);
          giveUp = null;
          if (data.problem !== undefined) return reject(new Error(data.problem));
          /** @type {[string, number][]} */
          const levels = data.levels;
          resolve({
            layouts: new Map(levels.map(([key, number]) => [key, kept[number]])),
            seconds: data.seconds,
          });
        };
        current.onerror = (event) => {
          giveUp = null;
          reject(new Error(event.message || "the layout worker stopped"));
        };
        const levels = groups.map(({ key, group, width, dot: inside }) => ({ key, group, width, dot: inside }));
        current.postMessage({ id, asked: { union: { dot, groups: levels }, open, afresh } });
      });
    },
  };
}
