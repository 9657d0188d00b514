// Times of kernels without their separate calls: a measurement calls each kernel separately, a run calls all at once.

/** @typedef {{a: number, b: number}} Calls seconds of a separate call in A and in B */

/**
 * Return the times of a side of a pair without its separate calls; null if a kernel was not timed, or if the calls take
 * longer than the kernels, so that the rest says little.
 * @param {{median_s: number, low_s: number, high_s: number} | null} times sums over the kernels of the side
 * @param {number} n number of these kernels
 * @param {number} call seconds of one call
 */
export function withoutCalls(times, n, call) {
  if (!times || times.median_s < 2 * n * call) return null;
  const [median_s, low_s, high_s] = [times.median_s, times.low_s, times.high_s].map((each) => each - n * call);
  return { median_s, low_s, high_s };
}
