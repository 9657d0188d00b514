// Where buffers lie on the picture of the arena: steps to the right, offsets upwards.

/**
 * @typedef {import("./wire.js").Memory} Memory
 * @typedef {import("./wire.js").Buffer} Buffer
 * @typedef {{buffer: Buffer, x: number, y: number, w: number, h: number}} Rect
 *
 * @typedef {object} MemoryMap
 * @property {Rect[]} rects
 * @property {{left: number, top: number, right: number, bottom: number}} plot
 * @property {number} peakY
 * @property {number} boundY
 * @property {{y: number, bytes: number}[]} byteTicks
 * @property {{x: number, step: number}[]} stepTicks
 */

const MARGIN = { left: 62, top: 18, right: 14, bottom: 30 };

/**
 * @param {Memory} memory
 * @param {{width: number, height: number}} size in pixels
 * @returns {MemoryMap}
 */
export function layoutMemory(memory, size) {
  const plot = {
    left: MARGIN.left,
    top: MARGIN.top,
    right: Math.max(MARGIN.left + 1, size.width - MARGIN.right),
    bottom: Math.max(MARGIN.top + 1, size.height - MARGIN.bottom),
  };
  const nSteps = Math.max(1, memory.n_steps, ...memory.buffers.map((b) => b.end));
  const top = Math.max(1, memory.peak_bytes, memory.lower_bound_bytes);
  const x = (/** @type {number} */ step) => plot.left + ((plot.right - plot.left) * step) / nSteps;
  const y = (/** @type {number} */ bytes) => plot.bottom - ((plot.bottom - plot.top) * bytes) / top;
  return {
    plot,
    rects: memory.buffers.map((buffer) => ({
      buffer,
      x: x(buffer.start),
      y: y(buffer.offset + buffer.size),
      w: x(buffer.end) - x(buffer.start),
      h: y(buffer.offset) - y(buffer.offset + buffer.size),
    })),
    peakY: y(memory.peak_bytes),
    boundY: y(memory.lower_bound_bytes),
    byteTicks: niceTicks(top, Math.max(2, Math.floor((plot.bottom - plot.top) / 48)), 1024).map(
      (bytes) => ({ y: y(bytes), bytes }),
    ),
    stepTicks: niceTicks(nSteps, Math.max(2, Math.floor((plot.right - plot.left) / 70)), 10).map(
      (step) => ({ x: x(step), step }),
    ),
  };
}

/**
 * Round values from 0 up to a limit, at most so many steps apart.
 * @param {number} limit
 * @param {number} n
 * @param {number} base 10, or 1024 for bytes
 * @returns {number[]}
 */
export function niceTicks(limit, n, base) {
  const unit = base === 10 ? 1 : base ** Math.max(0, Math.floor(Math.log(limit) / Math.log(base)));
  const fine = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 250,
    500, 1000, 2000, 5000, 10000,
  ];
  const steps =
    base === 10
      ? fine.filter((each) => each >= 1 && Number.isInteger(each))
      : fine.map((each) => each * unit);
  const step = steps.find((each) => limit / each <= n) ?? limit;
  const ticks = [];
  for (let at = 0; at <= limit * 1.0001; at += step) ticks.push(at);
  return ticks;
}

/**
 * The smallest rectangle at a point; zero-sized buffers are never hit.
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
 * The buffer that an arrow key leads to: left and right in time, up and down among those alive.
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
 * Bytes alive in every step; their maximum is the lower bound of any plan.
 * @param {Memory} memory
 * @returns {number[]}
 */
export function liveBytes({ n_steps, buffers }) {
  const live = new Array(Math.max(n_steps, ...buffers.map((b) => b.end), 0)).fill(0);
  for (const { start, end, size } of buffers)
    for (let step = start; step < end; step++) live[step] += size;
  return live;
}
