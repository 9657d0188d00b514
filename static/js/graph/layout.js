// Asks the worker for layouts; one drawing at a time, and any can be given up.

/**
 * @typedef {import("./dot_layout.js").Layout} Layout
 * @typedef {import("../wire.js").Union} Union
 * @typedef {{layouts: Map<string, Layout>, seconds: number}} Placed
 *   `layouts` by key of the group, "" for the whole
 *
 * @typedef {object} Asked what the worker is asked for
 * @property {import("./nesting.js").Levels} union
 * @property {Set<string>} open
 * @property {boolean} afresh whether what was laid out before is to be forgotten
 */

export class LayoutCancelled extends Error {}

/** Layouts of so many levels are kept. */
const KEPT_LEVELS = 3000;

/**
 * @typedef {object} Layouter
 * @property {(isEarly: boolean) => void} warm has the engine loaded; and exercised, if it is early
 * @property {(union: Union, open: Set<string>) => Promise<Placed>} layout
 * @property {() => void} stop gives up the layout that is being made
 */

/**
 * @param {string} workerUrl
 * @param {WorkerType} [type] "classic" where the worker is text in a file: such pages have no origin
 * @returns {Layouter}
 */
export function createLayouter(workerUrl, type = "module") {
  /** @type {Worker | null} */
  let worker = null;
  /** What the worker has laid out, in its order. @type {Layout[]} */
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
    // A layout under way can only be ended with its worker.
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
