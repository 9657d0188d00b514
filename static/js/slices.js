// Long lists made a slice at a time, so that no slice keeps the page from answering.
import { whenIdle } from "./scheduling.js";

export const SLICE = 100;
/** The second slice waits for the page to be idle, but not for longer. */
const SECOND_WITHIN_MS = 200;

/**
 * Makes items from 0 to n: the first slice at once, the second when nothing else is to be done or
 * painted, each other in a task of its own.
 * @param {number} n
 * @param {(start: number, end: number) => void} make
 * @param {{first?: number, size?: number}} [slices] how many items the first has, and each other
 * @returns {() => void} makes no more
 */
export function inSlices(n, make, { size = SLICE, first = size } = {}) {
  let start = 0;
  let stop = () => {};
  function go(/** @type {number} */ count) {
    const end = Math.min(n, start + count);
    make(start, end);
    start = end;
  }
  function goOn() {
    go(size);
    if (start >= n) return;
    const next = setTimeout(goOn, 0);
    stop = () => clearTimeout(next);
  }
  if (n > 0) go(first);
  if (start < n) stop = whenIdle(goOn, SECOND_WITHIN_MS);
  return () => stop();
}
