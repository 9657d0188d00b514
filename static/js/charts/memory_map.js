// Layout of the memory plan: steps to the right, offsets upwards; below the plan, live bytes by step.

/**
 * @typedef {import("../wire.js").Memory} Memory
 * @typedef {import("../wire.js").Buffer} Buffer
 * @typedef {{buffer: Buffer, x: number, y: number, w: number, h: number}} Rect
 * @typedef {{before: number, after: number, x1: number, x2: number, y: number}} Edge from the end of
 *   a buffer to the start of its successor in the same memory
 * @typedef {{left: number, top: number, right: number, bottom: number}} Box
 * @typedef {{x: number, y: number}} Point
 *
 * @typedef {object} MemoryMap
 * @property {Rect[]} rects
 * @property {Edge[]} edges
 * @property {Box} plot
 * @property {Box} below area of the curves
 * @property {Point[]} live corners of the curve of live bytes
 * @property {Point[]} used corners of the curve of the extent: the end of the highest live buffer
 * @property {{x: number, y: number}} fullest the middle of the step with most live bytes
 * @property {number} peakY
 * @property {number} boundY
 * @property {{y: number, bytes: number}[]} byteTicks
 * @property {{x: number, step: number}[]} stepTicks
 */

const MARGIN = { left: 62, top: 18, right: 14, bottom: 30 };
/** Share of the height for the curves, and distance of the curves from the map in pixels. */
const CURVES = { share: 0.24, apart: 16 };

/**
 * @param {Memory} memory
 * @param {{width: number, height: number}} size in pixels
 * @returns {MemoryMap}
 */
export function layoutMemory(memory, size) {
  const right = Math.max(MARGIN.left + 1, size.width - MARGIN.right);
  const bottom = Math.max(MARGIN.top + 1, size.height - MARGIN.bottom);
  const high = (bottom - MARGIN.top) * CURVES.share;
  const apart = Math.min(CURVES.apart, high / 2);
  const below = { left: MARGIN.left, top: bottom - high + apart, right, bottom };
  const plot = { left: MARGIN.left, top: MARGIN.top, right, bottom: bottom - high };
  const nSteps = Math.max(1, memory.n_steps, ...memory.buffers.map((b) => b.end));
  const top = Math.max(1, memory.peak_bytes, memory.lower_bound_bytes);
  const x = (/** @type {number} */ step) => plot.left + ((plot.right - plot.left) * step) / nSteps;
  const over = (/** @type {Box} */ box) => (/** @type {number} */ bytes) =>
    box.bottom - ((box.bottom - box.top) * bytes) / top;
  const [y, yBelow] = [over(plot), over(below)];
  const byNumber = new Map(memory.buffers.map((buffer) => [buffer.buffer, buffer]));
  return {
    plot,
    below,
    rects: memory.buffers.map((buffer) => ({
      buffer,
      x: x(buffer.start),
      y: y(buffer.offset + buffer.size),
      w: x(buffer.end) - x(buffer.start),
      h: y(buffer.offset) - y(buffer.offset + buffer.size),
    })),
    edges: memory.handovers.flatMap(({ before, after }) => {
      const [from, to] = [byNumber.get(before), byNumber.get(after)];
      return from && to
        ? [{ before, after, x1: x(from.end), x2: x(to.start), y: y(sharedMiddle(from, to)) }]
        : [];
    }),
    live: corners(memory.live_bytes, x, yBelow),
    used: corners(memory.used_bytes, x, yBelow),
    fullest: {
      x: x(memory.fullest_step + 0.5),
      y: yBelow(memory.live_peak_bytes),
    },
    peakY: y(memory.peak_bytes),
    boundY: y(memory.lower_bound_bytes),
    byteTicks: niceTicks(top, Math.max(2, Math.floor((plot.bottom - plot.top) / 48))).map(
      (bytes) => ({ y: y(bytes), bytes }),
    ),
    stepTicks: niceTicks(nSteps, Math.max(2, Math.floor((plot.right - plot.left) / 70))).map(
      (step) => ({ x: x(step), step }),
    ),
  };
}

/**
 * Return the middle byte of the overlap of two buffers.
 * @param {Buffer} a
 * @param {Buffer} b
 * @returns {number}
 */
function sharedMiddle(a, b) {
  return (Math.max(a.offset, b.offset) + Math.min(a.offset + a.size, b.offset + b.size)) / 2;
}

/**
 * Return the corners of a step curve.
 * @param {number[]} bytes number of bytes at each step
 * @param {(step: number) => number} x
 * @param {(bytes: number) => number} y
 * @returns {Point[]}
 */
function corners(bytes, x, y) {
  return bytes.flatMap((each, step) => [
    { x: x(step), y: y(each) },
    { x: x(step + 1), y: y(each) },
  ]);
}

/**
 * Return round tick values from 0 to a limit, in at most `n` intervals.
 * @param {number} limit
 * @param {number} n
 * @returns {number[]}
 */
export function niceTicks(limit, n) {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, limit / n))));
  const step = [1, 2, 5, 10].map((each) => each * unit).find((each) => limit / each <= n) ?? limit;
  const ticks = [];
  for (let at = 0; at <= limit * 1.0001; at += step) ticks.push(at);
  return ticks;
}

/**
 * Return the smallest rectangle at a point; buffers of size 0 are never hit.
 * @param {Rect[]} rects
 * @param {{x: number, y: number}} point
 * @returns {Rect | null}
 */
export function rectAt(rects, point) {
  let best = null;
  for (const rect of rects) {
    const inside =
      point.x >= rect.x &&
      point.x < rect.x + rect.w &&
      point.y >= rect.y &&
      point.y < rect.y + rect.h;
    if (inside && (!best || rect.w * rect.h < best.w * best.h)) best = rect;
  }
  return best;
}

/**
 * Return the target of an arrow key: left and right in time, up and down among live buffers.
 * @param {Memory} memory
 * @param {number} from index of a buffer, -1 for none
 * @param {"left" | "right" | "up" | "down"} direction
 * @returns {number}
 */
export function nextBuffer({ buffers }, from, direction) {
  const here = buffers.find((each) => each.buffer === from);
  const inTime = [...buffers].sort((a, b) => a.start - b.start || a.offset - b.offset);
  if (!here) return inTime[0]?.buffer ?? -1;
  if (direction === "left" || direction === "right") {
    const at = inTime.indexOf(here) + (direction === "right" ? 1 : -1);
    return inTime[at]?.buffer ?? from;
  }
  const alive = buffers
    .filter((each) => each.start < here.end && here.start < each.end)
    .sort((a, b) => a.offset - b.offset);
  return alive[alive.indexOf(here) + (direction === "up" ? 1 : -1)]?.buffer ?? from;
}

/**
 * Return the live buffers of the peak step, largest first.
 * @param {Memory} memory
 * @returns {Buffer[]}
 */
export function atFullest({ buffers, fullest_step }) {
  return buffers
    .filter((each) => each.size > 0 && each.start <= fullest_step && fullest_step < each.end)
    .sort((a, b) => b.size - a.size || a.buffer - b.buffer);
}
