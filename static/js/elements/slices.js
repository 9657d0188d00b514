// Builds long lists in slices, so the page stays responsive.
import { whenIdle } from "./scheduling.js";

export const SLICE = 100;
/** Maximum time in milliseconds that the second slice waits for an idle page. */
const SECOND_WITHIN_MS = 200;

/**
 * Create items 0 to n: the first slice now, the second when the page is idle, each later slice in a
 * separate task.
 * @param {number} n
 * @param {(start: number, end: number) => void} make
 * @param {{first?: number, size?: number}} [slices] size of the first slice and of the others
 * @returns {() => void} stops
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
