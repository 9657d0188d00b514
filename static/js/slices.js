// Long lists made a slice at a time, so that no slice keeps the page from answering.

export const SLICE = 100;

/**
 * Makes items from 0 to n: the first slice at once, each other in a task of its own.
 * @param {number} n
 * @param {(start: number, end: number) => void} make
 * @param {number} [size] of a slice
 * @returns {() => void} makes no more
 */
export function inSlices(n, make, size = SLICE) {
  let start = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let next;
  function go() {
    const end = Math.min(n, start + size);
    make(start, end);
    start = end;
    if (start < n) next = setTimeout(go, 0);
  }
  if (n > 0) go();
  return () => clearTimeout(next);
}
