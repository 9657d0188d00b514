// Tests of the playing of frames: by the clock, by steps, and off screen.
import assert from "node:assert/strict";
import test from "node:test";
import { createPlayback, paceOf } from "../../../../static/js/course/motion/playback.js";

/** @param {{n?: number, mayBegin?: boolean}} [settings] */
function made({ n = 4, mayBegin = true } = {}) {
  /** @type {{then: () => void, ms: number} | null} */
  let waiting = null;
  /** @type {string[]} */
  const causes = [];
  const clock = {
    start: (/** @type {() => void} */ then, /** @type {number} */ ms) => {
      assert.equal(waiting, null, "one timer at a time");
      waiting = { then, ms };
      return 1;
    },
    stop: () => void (waiting = null),
  };
  const playback = createPlayback({ n, paceMs: 50, mayBegin: () => mayBegin, change: (cause) => causes.push(cause), clock });
  return {
    playback,
    causes,
    isWaiting: () => waiting !== null,
    pass() {
      const { then, ms } = /** @type {NonNullable<typeof waiting>} */ (waiting);
      assert.equal(ms, 50);
      waiting = null;
      then();
    },
  };
}

test("a picture begins when it is visible, and ends at its last frame", () => {
  const { playback, causes, isWaiting, pass } = made();
  assert.ok(!isWaiting());
  playback.see(true);
  for (const frame of [1, 2, 3]) {
    assert.ok(playback.isPlaying());
    pass();
    assert.equal(playback.frame(), frame);
  }
  assert.ok(!playback.isPlaying() && !isWaiting());
  assert.deepEqual(causes, ["start", "play", "play", "play"]);
  playback.see(false);
  playback.see(true);
  assert.ok(!isWaiting(), "it begins by itself only once");
});

test("with reduced motion a picture plays only when the reader says so", () => {
  const { playback, isWaiting, pass } = made({ mayBegin: false });
  playback.see(true);
  assert.ok(!isWaiting() && !playback.isPlaying());
  playback.toggle();
  pass();
  assert.equal(playback.frame(), 1);
});

test("a picture waits off screen, and continues from the same frame", () => {
  const { playback, isWaiting, pass } = made();
  playback.see(true);
  pass();
  playback.see(false);
  assert.ok(!isWaiting() && playback.isPlaying());
  playback.see(true);
  pass();
  assert.equal(playback.frame(), 2);
});

test("a pause of the reader stays when the picture comes into view again", () => {
  const { playback, isWaiting } = made();
  playback.see(true);
  playback.toggle();
  playback.see(false);
  playback.see(true);
  assert.ok(!isWaiting() && !playback.isPlaying());
});

test("a step pauses, stays between the first and the last frame, and prevents a beginning", () => {
  const { playback, causes, isWaiting } = made();
  playback.go(2);
  playback.see(true);
  assert.deepEqual([playback.frame(), isWaiting()], [2, false]);
  playback.go(9, "slide");
  assert.equal(playback.frame(), 3);
  playback.go(-1);
  assert.equal(playback.frame(), 0);
  assert.deepEqual(causes, ["step", "slide", "step"]);
  playback.toggle();
  playback.go(1);
  assert.ok(!playback.isPlaying() && !isWaiting());
});

test("from the last frame, a picture plays again from the first", () => {
  const { playback, pass } = made();
  playback.see(true);
  playback.go(3);
  playback.toggle();
  assert.equal(playback.frame(), 0);
  pass();
  assert.equal(playback.frame(), 1);
});

test("a single frame does not play", () => {
  const { playback, isWaiting } = made({ n: 1 });
  playback.see(true);
  playback.toggle();
  assert.ok(!playback.isPlaying() && !isWaiting());
});

test("a long picture plays faster, within bounds", () => {
  assert.equal(paceOf(2), 1000);
  assert.equal(paceOf(60), 300);
  assert.equal(paceOf(240), 160);
});
