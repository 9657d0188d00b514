// Plays frames one after another. It waits while its picture is off screen, and any step of the reader pauses it.

/**
 * @typedef {"start" | "play" | "step" | "slide"} Cause the cause of a change: a frame of the playing picture,
 *   a step by a button or key, a move of the slider; "start": playing began or ended
 *
 * @typedef {object} Clock
 * @property {(then: () => void, ms: number) => number} start
 * @property {(timer: number) => void} stop
 *
 * @typedef {object} Playback
 * @property {() => number} frame
 * @property {() => boolean} isPlaying
 * @property {(frame: number, cause?: Cause) => void} go show a frame, and pause
 * @property {() => void} toggle play or pause; from the last frame, play again
 * @property {() => void} pause
 * @property {(isVisible: boolean) => void} see
 */

/** @type {Clock} */
const BROWSER = { start: (then, ms) => window.setTimeout(then, ms), stop: (timer) => window.clearTimeout(timer) };

/**
 * @param {object} settings
 * @param {number} settings.n number of frames
 * @param {number} settings.paceMs time of a frame in milliseconds
 * @param {() => boolean} settings.mayBegin whether the picture may begin to play when it becomes visible
 * @param {(cause: Cause) => void} settings.change called after each change
 * @param {Clock} [settings.clock]
 * @returns {Playback}
 */
export function createPlayback({ n, paceMs, mayBegin, change, clock = BROWSER }) {
  let frame = 0;
  let isPlaying = false;
  let isVisible = false;
  /** Whether the picture has begun to play, or the reader has used it: then it never begins by itself. */
  let hasBegun = false;
  /** @type {number | null} */
  let timer = null;

  function wait() {
    if (timer !== null) clock.stop(timer);
    timer = isPlaying && isVisible ? clock.start(tick, paceMs) : null;
  }

  function tick() {
    timer = null;
    frame = Math.min(frame + 1, n - 1);
    isPlaying = frame < n - 1;
    change("play");
    wait();
  }

  /** @param {boolean} next */
  function play(next) {
    hasBegun = true;
    if (next === isPlaying) return;
    if (next && frame === n - 1) frame = 0;
    isPlaying = next && n > 1;
    change("start");
    wait();
  }

  return {
    frame: () => frame,
    isPlaying: () => isPlaying,
    go(to, cause = "step") {
      play(false);
      frame = Math.max(0, Math.min(to, n - 1));
      change(cause);
    },
    toggle: () => play(!isPlaying),
    pause: () => play(false),
    see(next) {
      isVisible = next;
      if (isVisible && !hasBegun && mayBegin()) play(true);
      else wait();
    },
  };
}

/** Return the time of a frame in milliseconds; a long picture plays faster. @param {number} n number of frames */
export function paceOf(n) {
  return Math.max(160, Math.min(1000, 18_000 / n));
}
