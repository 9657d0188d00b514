// Layout of the roofline plot: operations per byte to the right, operations per second upwards, both
// on logarithmic axes.
//
// Source: Williams, Waterman and Patterson 2009; a roof for each level of memory: Ilic, Pratas and
// Sousa 2014.

/**
 * @typedef {import("../wire.js").Profile} Profile
 * @typedef {import("../wire.js").Kernel} Kernel
 * @typedef {import("../wire.js").KernelTimes} KernelTimes
 *
 * @typedef {object} Spot a kernel with operations to count
 * @property {Kernel} kernel
 * @property {KernelTimes} times
 * @property {number} intensity operations per byte
 * @property {number} rate operations per second at the median time
 * @property {number} low
 * @property {number} high upper end of the interval of the rate
 * @property {number | null} ceiling attainable operations per second
 * @property {number | null} reached fraction of the ceiling
 * @property {boolean} tiny whether call overhead exceeds the kernel's work
 *
 * @typedef {object} Ceiling
 * @property {string} name "f32", "L1", ...
 * @property {"compute" | "memory"} kind
 * @property {number} speed operations or bytes per second
 * @property {number} n_cores number of cores
 *
 * @typedef {{from: number, to: number}} Range
 * @typedef {{left: number, top: number, right: number, bottom: number}} Box
 * @typedef {{spot: Spot, x: number, y: number, r: number, lowY: number, highY: number}} Point
 * @typedef {{ceiling: Ceiling, x1: number, y1: number, x2: number, y2: number}} Line
 *
 * @typedef {object} RooflineMap
 * @property {Box} plot
 * @property {Point[]} points longest kernel first, so that small points are drawn on top
 * @property {Line[]} lines
 * @property {{x: number, value: number}[]} xTicks
 * @property {{y: number, value: number}[]} yTicks
 */

const MARGIN = { left: 100, top: 14, right: 14, bottom: 40 };
const RADIUS = { least: 3.5, most: 17 };
/** Duration in seconds below which call overhead dominates. */
const TINY_S = 1e-6;
const NEAR = 6;

/**
 * Return kernels with operations to count, in launch order.
 * @param {Profile} profile
 * @param {Kernel[]} kernels
 * @returns {Spot[]}
 */
export function spotsOf(profile, kernels) {
  return profile.kernels
    .filter((each) => each.flops > 0 && each.bytes > 0 && each.median_s > 0)
    .map((times) => ({
      kernel: kernels[times.kernel],
      times,
      intensity: times.flops_per_byte ?? 0,
      rate: times.flops_per_s ?? 0,
      low: times.flops / times.high_s,
      high: times.flops / times.low_s,
      ceiling: times.ceiling_flops_per_s,
      reached: times.reached,
      tiny: times.bound === "overhead" || times.median_s < Math.max(TINY_S, 2 * profile.machine.call_s),
    }));
}

/**
 * Return the ceilings of this run: those of one core, multiplied by the number of cores that threads use.
 * The lower bounds of the kernels use the same speeds.
 * @param {Profile} profile
 * @returns {Ceiling[]}
 */
export function ceilingsOf({ machine, threads }) {
  const n = Math.max(1, Math.min(threads, machine.n_processors));
  return [
    ...machine.peaks
      .filter((each) => each.unit === "f32" || each.is_used)
      .map(({ unit, flops_per_second }) => ({
        name: unit,
        kind: /** @type {const} */ ("compute"),
        speed: n * flops_per_second,
        n_cores: n,
      })),
    ...machine.levels.map(({ level, bytes_per_second }) => ({
      name: level,
      kind: /** @type {const} */ ("memory"),
      speed: n * bytes_per_second,
      n_cores: n,
    })),
  ];
}

/**
 * @param {Spot[]} spots
 * @param {Ceiling[]} ceilings
 * @param {{width: number, height: number}} size
 * @returns {RooflineMap}
 */
export function layoutRoofline(spots, ceilings, size) {
  const plot = {
    left: MARGIN.left,
    top: MARGIN.top,
    right: Math.max(MARGIN.left + 1, size.width - MARGIN.right),
    bottom: Math.max(MARGIN.top + 1, size.height - MARGIN.bottom),
  };
  const [xs, ys] = rangesOf(spots, ceilings);
  const x = scale(xs, plot.left, plot.right);
  const y = scale(ys, plot.bottom, plot.top);
  const peak = Math.max(...ceilings.filter((each) => each.kind === "compute").map((each) => each.speed));
  const longest = Math.max(...spots.map((each) => each.times.median_s), 1e-12);
  return {
    plot,
    points: spots
      .map((spot) => ({
        spot,
        x: x(spot.intensity),
        y: y(spot.rate),
        lowY: y(spot.low),
        highY: y(spot.high),
        r: RADIUS.least + (RADIUS.most - RADIUS.least) * Math.sqrt(spot.times.median_s / longest),
      }))
      .sort((a, b) => b.r - a.r),
    lines: ceilings.map((ceiling) => ({ ceiling, ...lineOf(ceiling, peak, xs, ys, x, y) })),
    xTicks: decades(xs).map((value) => ({ x: x(value), value })),
    yTicks: decades(ys).map((value) => ({ y: y(value), value })),
  };
}

/**
 * Return ranges of the axes that contain all kernels, and the ridge points of all memories at the highest peak.
 * @param {Spot[]} spots
 * @param {Ceiling[]} ceilings
 * @returns {[Range, Range]}
 */
function rangesOf(spots, ceilings) {
  const peaks = ceilings.filter((each) => each.kind === "compute").map((each) => each.speed);
  const peak = Math.max(...peaks);
  const corners = ceilings.filter((each) => each.kind === "memory").map((each) => peak / each.speed);
  const xs = [...spots.map((each) => each.intensity), ...corners];
  const ys = [...spots.flatMap((each) => [each.low, each.high]), ...peaks];
  return [
    { from: Math.min(...xs, 1) / 2, to: Math.max(...xs) * 4 },
    { from: Math.min(...ys) / 2, to: Math.max(...ys) * 2 },
  ];
}

/**
 * @param {Range} range
 * @param {number} a first pixel
 * @param {number} b last pixel
 */
function scale({ from, to }, a, b) {
  const [low, high] = [Math.log10(from), Math.log10(to)];
  return (/** @type {number} */ value) => a + ((Math.log10(value) - low) / (high - low)) * (b - a);
}

/**
 * Return the line of a ceiling. A peak is a flat line over the whole axis; a memory is a slope up to the
 * highest peak.
 * @param {Ceiling} ceiling
 * @param {number} peak
 * @param {Range} xs
 * @param {Range} ys
 * @param {(v: number) => number} x
 * @param {(v: number) => number} y
 */
function lineOf({ kind, speed }, peak, xs, ys, x, y) {
  if (kind === "compute") return { x1: x(xs.from), y1: y(speed), x2: x(xs.to), y2: y(speed) };
  const from = Math.max(xs.from, ys.from / speed);
  return { x1: x(from), y1: y(from * speed), x2: x(peak / speed), y2: y(peak) };
}

const NAME_HIGH = 16;

/**
 * Return a place for the name of a peak that covers no point, if there is one: above or below the line, as far
 * right as possible.
 * @param {Pick<RooflineMap, "plot" | "points">} map
 * @param {number} y of the line
 * @param {number} width of the name
 * @returns {{x: number, isAbove: boolean}} the right end of the name
 */
export function clearPlace({ plot, points }, y, width) {
  const right = plot.right - 4;
  const isClear = (/** @type {number} */ end, /** @type {boolean} */ isAbove) => {
    const top = isAbove ? y - NAME_HIGH : y;
    return points.every(
      (p) => p.x + p.r < end - width || p.x - p.r > end || p.y + p.r < top || p.y - p.r > top + NAME_HIGH,
    );
  };
  for (let end = right; end - width > plot.left + 4; end -= 8)
    for (const isAbove of [true, false]) if (isClear(end, isAbove)) return { x: end, isAbove };
  return { x: right, isAbove: true };
}

/** @param {Range} range */
function decades({ from, to }) {
  const found = [];
  for (let power = Math.ceil(Math.log10(from)); power <= Math.log10(to); power += 1) found.push(10 ** power);
  return found;
}

/**
 * Return the point under the pointer: the smallest point at this position, else the nearest point close by.
 * @param {RooflineMap} map
 * @param {{x: number, y: number}} at
 * @returns {Spot | null}
 */
export function spotAt({ points }, at) {
  const away = (/** @type {Point} */ p) => Math.hypot(p.x - at.x, p.y - at.y);
  const under = points.filter((p) => away(p) <= p.r).sort((a, b) => a.r - b.r)[0];
  const near = points.filter((p) => away(p) <= p.r + NEAR).sort((a, b) => away(a) - a.r - away(b) + b.r)[0];
  return (under ?? near)?.spot ?? null;
}

/**
 * Return the target of an arrow key: the next point in that direction, or the same point if there is none.
 * @param {Spot[]} spots
 * @param {Spot | null} at
 * @param {"left" | "right" | "up" | "down"} direction
 * @returns {Spot | null}
 */
export function nextSpot(spots, at, direction) {
  const value = (/** @type {Spot} */ s) => (direction === "left" || direction === "right" ? s.intensity : s.rate);
  const order = [...spots].sort((a, b) => value(a) - value(b) || a.times.kernel - b.times.kernel);
  const by = direction === "left" || direction === "down" ? -1 : 1;
  const place = at ? order.indexOf(at) : -1;
  return place < 0 ? (order[0] ?? null) : (order[place + by] ?? at);
}

/**
 * Return the next point in decreasing order of time.
 * @param {Spot[]} spots
 * @param {Spot | null} at
 * @param {1 | -1} by
 */
export function nextByTime(spots, at, by) {
  const order = [...spots].sort((a, b) => b.times.median_s - a.times.median_s);
  const place = at ? order.indexOf(at) : -1;
  return place < 0 ? (order[0] ?? null) : (order[place + by] ?? at);
}
