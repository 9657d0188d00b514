// Long work in short turns: a generator goes on until its time is up, and the page may answer before
// the next turn. What is made is pure work that knows nothing of time: it yields between pieces of a
// millisecond or so.

/** So long a turn may take: half of a frame is left to everything else. */
const TURN_MS = 8;

/**
 * A task of its own, as soon as what waits already has been done.
 * @returns {Promise<void>}
 */
export function nextTurn() {
  const { scheduler } = /** @type {{scheduler?: {yield?: () => Promise<void>}}} */ (
    /** @type {unknown} */ (globalThis)
  );
  if (scheduler?.yield) return scheduler.yield();
  return new Promise((resolve) => {
    // A timeout would wait for at least four milliseconds, each time.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/**
 * Does the work in turns.
 * @template T
 * @param {Generator<void, T>} work
 * @param {() => boolean} isWanted asked after every turn
 * @param {() => Promise<void>} [pause] between two turns
 * @returns {Promise<T | undefined>} what it made; nothing when it was not wanted any more
 */
export async function inTurns(work, isWanted, pause = nextTurn) {
  for (;;) {
    const end = performance.now() + TURN_MS;
    do {
      const { done, value } = work.next();
      if (done) return value;
    } while (performance.now() < end);
    await pause();
    if (!isWanted()) return undefined;
  }
}

/**
 * Does the work at once.
 * @template T
 * @param {Generator<void, T>} work
 * @returns {T}
 */
export function atOnce(work) {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Where a browser does not tell when it is idle (Safari), it is taken to be after this. */
const IDLE_AFTER_MS = 500;

/**
 * Does something when nothing else is to be done or painted.
 * @param {() => void} work
 * @param {number} [withinMs] idle or not, it waits for no longer; for as long as it takes if not given
 * @returns {() => void} does it no more
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
 * A turn when nothing else is to be done or painted.
 * @returns {Promise<void>}
 */
export function idleTurn() {
  return new Promise((resolve) => void whenIdle(resolve));
}

/**
 * Starts something in a task of its own, unless it was ended before.
 * @param {() => () => void} start gives what ends it
 * @returns {() => void}
 */
export function inOwnTurn(start) {
  let isWanted = true;
  let stop = () => {};
  void nextTurn().then(() => {
    if (isWanted) stop = start();
  });
  return () => {
    isWanted = false;
    stop();
  };
}
