// Cooperative scheduling: a generator runs for one time slice, then the page handles events, then the
// generator continues. Generators yield about once a millisecond and read no clock.

/** Duration of a time slice in milliseconds: half of a frame, since other work needs the rest. */
const TIME_SLICE_MS = 8;

/**
 * Wait for a new task of the event loop, after the tasks already queued.
 * @returns {Promise<void>}
 */
export function nextTask() {
  const { scheduler } = /** @type {{scheduler?: {yield?: () => Promise<void>}}} */ (
    /** @type {unknown} */ (globalThis)
  );
  if (scheduler?.yield) return scheduler.yield();
  return new Promise((resolve) => {
    // A timeout would wait at least 4 ms.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/**
 * Run a generator in time slices.
 * @template T
 * @param {Generator<void, T>} work
 * @param {() => boolean} isWanted checked after every time slice
 * @param {() => Promise<void>} [pause] between two time slices
 * @returns {Promise<T | undefined>} the generator's return value; undefined if no longer wanted
 */
export async function inTimeSlices(work, isWanted, pause = nextTask) {
  for (;;) {
    const end = performance.now() + TIME_SLICE_MS;
    do {
      const { done, value } = work.next();
      if (done) return value;
    } while (performance.now() < end);
    await pause();
    if (!isWanted()) return undefined;
  }
}

/**
 * Run a generator to its end.
 * @template T
 * @param {Generator<void, T>} work
 * @returns {T}
 */
export function synchronously(work) {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Time after which a browser without `requestIdleCallback` (Safari) counts as idle. */
const IDLE_AFTER_MS = 500;

/**
 * Run a function when the page is idle.
 * @param {() => void} work
 * @param {number} [withinMs] maximum wait; unlimited if absent
 * @returns {() => void} function that cancels the wait
 */
export function whenIdle(work, withinMs) {
  if (!("requestIdleCallback" in globalThis)) {
    const timer = setTimeout(work, Math.min(IDLE_AFTER_MS, withinMs ?? Infinity));
    return () => clearTimeout(timer);
  }
  const request = requestIdleCallback(work, { timeout: withinMs });
  return () => cancelIdleCallback(request);
}

/**
 * Wait until the page is idle.
 * @returns {Promise<void>}
 */
export function idleTask() {
  return new Promise((resolve) => void whenIdle(resolve));
}

/**
 * Run a function in a new task, unless it is cancelled before.
 * @param {() => () => void} start runs in the new task, and returns the function that ends its work
 * @returns {() => void}
 */
export function inOwnTask(start) {
  let isWanted = true;
  let stop = () => {};
  void nextTask().then(() => {
    if (isWanted) stop = start();
  });
  return () => {
    isWanted = false;
    stop();
  };
}
