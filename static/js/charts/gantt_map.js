// Layout of a schedule's Gantt chart: time to the right, a row for each device and each channel of a
// link; below, the use of each memory over the same time.

/**
 * @typedef {import("../wire.js").Placement} Placement
 * @typedef {import("../wire.js").Platform} Platform
 * @typedef {[from: number, to: number]} Span start and end of the visible time, as shares of the run
 *
 * @typedef {object} Activity a kernel on a device or a transfer over a link
 * @property {number} number index among all activities; tasks come first
 * @property {"task" | "move"} kind
 * @property {string} name
 * @property {string} task id of the node of the kernel or of the transferred value
 * @property {string} on the device or link
 * @property {string} way for transfers: source and target memory, "ram → vram"
 * @property {number} nbytes size of a transfer in bytes
 * @property {string[]} origins
 * @property {number} start start time in seconds
 * @property {number} end
 * @property {boolean} critical
 *
 * @typedef {{name: string, kind: "device" | "link", activities: Activity[]}} Row
 * @typedef {{name: string, course: [seconds: number, bytes: number][], peak: number, room: number | null}} Store
 * @typedef {{rows: Row[], stores: Store[], activities: Activity[], path: Activity[], whole: number, bound: number}} Chart
 *
 * @typedef {{left: number, top: number, right: number, bottom: number}} Box
 * @typedef {{activity: Activity, x: number, y: number, w: number, h: number}} Bar
 *
 * @typedef {object} GanttMap
 * @property {Box} plot
 * @property {{row: Row, y: number}[]} rows each with the position of its middle
 * @property {Bar[]} bars visible bars
 * @property {{x: number, y: number}[]} path corners of the critical path
 * @property {{store: Store, box: Box, corners: {x: number, y: number}[]}[]} stores
 * @property {{x: number, seconds: number}[]} ticks
 * @property {number | null} boundX lower bound of the makespan
 */

const MARGIN = { left: 86, top: 20, right: 14, bottom: 26 };
const ROW = 30;
const BAR = 22;
const STORE = 46;
const APART = 12;

/** @type {Span} */
export const WHOLE = [0, 1];
/** The minimum share of the run that a view shows. */
const LEAST = 0.002;

/**
 * Return a schedule as rows of activities.
 * @param {Platform} platform
 * @param {Placement} placement
 * @returns {Chart}
 */
export function chartOf(platform, placement) {
  const origins = new Map(placement.tasks.map((each) => [each.task, each.origins]));
  /** @type {Activity[]} */
  const activities = [
    ...placement.tasks.map((each, number) => ({
      number,
      kind: /** @type {const} */ ("task"),
      name: each.task,
      task: each.task,
      on: each.device,
      way: "",
      nbytes: 0,
      origins: each.origins,
      start: each.start,
      end: each.end,
      critical: each.is_critical,
    })),
    ...placement.moves.map((each, number) => ({
      number: placement.tasks.length + number,
      kind: /** @type {const} */ ("move"),
      name: each.datum,
      task: each.task,
      on: each.link,
      way: `${each.source} → ${each.to}`,
      nbytes: each.nbytes,
      origins: origins.get(each.task) ?? [],
      start: each.start,
      end: each.end,
      critical: each.is_critical,
    })),
  ];
  const byStart = [...activities].sort((a, b) => a.start - b.start || a.end - b.end);
  const of = (/** @type {string} */ kind, /** @type {string} */ name) =>
    byStart.filter((each) => each.kind === kind && each.on === name);
  return {
    activities,
    rows: [
      ...platform.devices.map(({ name }) => ({
        name,
        kind: /** @type {const} */ ("device"),
        activities: of("task", name),
      })),
      ...platform.links.flatMap(({ name }) =>
        lanes(of("move", name)).map((lane) => ({
          name,
          kind: /** @type {const} */ ("link"),
          activities: lane,
        })),
      ),
    ],
    stores: platform.memories.map(({ name, nbytes }) => ({
      name,
      course: placement.held_bytes[name] ?? [],
      peak: placement.peak_bytes[name] ?? 0,
      room: nbytes,
    })),
    path: byStart.filter((each) => each.critical),
    whole: placement.makespan_seconds,
    bound: placement.bound_seconds,
  };
}

/**
 * Assign the transfers of a link to channels without overlaps.
 * @param {Activity[]} moves sorted by start
 * @returns {Activity[][]}
 */
function lanes(moves) {
  /** @type {Activity[][]} */
  const found = [];
  for (const move of moves) {
    const free = found.find((lane) => lane[lane.length - 1].end <= move.start);
    if (free) free.push(move);
    else found.push([move]);
  }
  return found;
}

/** Return the height of a chart, in pixels. @param {Chart} chart */
export function heightOf({ rows, stores }) {
  return MARGIN.top + rows.length * ROW + stores.length * (STORE + APART) + MARGIN.bottom;
}

/**
 * @param {Chart} chart
 * @param {Span} span
 * @param {{width: number, height: number}} size in pixels
 * @returns {GanttMap}
 */
export function layoutGantt(chart, [from, to], size) {
  const right = Math.max(MARGIN.left + 1, size.width - MARGIN.right);
  const plot = {
    left: MARGIN.left,
    top: MARGIN.top,
    right,
    bottom: MARGIN.top + chart.rows.length * ROW,
  };
  const whole = chart.whole || 1;
  const scale = (right - plot.left) / ((to - from) * whole);
  const x = (/** @type {number} */ seconds) => plot.left + (seconds - from * whole) * scale;
  const inside = (/** @type {number} */ at) => Math.min(right, Math.max(plot.left, at));
  /** @type {Bar[]} */
  const bars = [];
  /** @type {Map<Activity, number>} */
  const middle = new Map();
  const rows = chart.rows.map((row, i) => {
    const y = plot.top + i * ROW + (ROW - BAR) / 2;
    for (const activity of row.activities) {
      middle.set(activity, y + BAR / 2);
      const [a, b] = [x(activity.start), x(activity.end)];
      if (b >= plot.left && a <= right)
        bars.push({ activity, x: inside(a), y, w: Math.max(inside(b) - inside(a), 1), h: BAR });
    }
    return { row, y: y + BAR / 2 };
  });
  return {
    plot,
    rows,
    bars,
    path: chart.path.flatMap((each) => [
      { x: x(each.start), y: middle.get(each) ?? plot.top },
      { x: x(each.end), y: middle.get(each) ?? plot.top },
    ]),
    stores: chart.stores.map((store, i) => {
      const top = plot.bottom + APART + i * (STORE + APART);
      const box = { left: plot.left, top, right, bottom: top + STORE };
      return { store, box, corners: cornersOf(store, box, whole, (at) => inside(x(at))) };
    }),
    ticks: roundTimes(from * whole, to * whole, Math.max(2, (right - plot.left) / 84)).map(
      (seconds) => ({ x: x(seconds), seconds }),
    ),
    boundX: chart.bound > 0 && chart.bound < whole * (1 - 1e-6) ? x(chart.bound) : null,
  };
}

/**
 * Return at most `most` tick times between two times: multiples of 1, 2 or 5 times a power of ten.
 * @param {number} from
 * @param {number} to
 * @param {number} most
 * @returns {number[]}
 */
function roundTimes(from, to, most) {
  const power = 10 ** Math.floor(Math.log10((to - from) / most));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => (to - from) / each <= most);
  if (!step) return [from];
  const first = Math.ceil(from / step - 1e-9);
  const n = Math.floor(to / step + 1e-9) - first + 1;
  return Array.from({ length: n }, (_, i) => (first + i) * step);
}

/**
 * Return the use of a memory as corners of a step curve.
 * @param {Store} store
 * @param {Box} box
 * @param {number} whole
 * @param {(seconds: number) => number} x
 */
function cornersOf({ course, peak }, box, whole, x) {
  const y = (/** @type {number} */ bytes) =>
    box.bottom - ((box.bottom - box.top) * bytes) / Math.max(peak, 1);
  return course.flatMap(([seconds, bytes], i) => [
    { x: x(seconds), y: y(bytes) },
    { x: x(course[i + 1]?.[0] ?? whole), y: y(bytes) },
  ]);
}

/**
 * Return the narrowest activity at a point, with a tolerance of 1 or 2 pixels for narrow bars.
 * @param {GanttMap} map
 * @param {{x: number, y: number}} point
 * @returns {Activity | null}
 */
export function activityAt({ bars }, point) {
  let best = null;
  let least = Infinity;
  for (const { activity, x, y, w, h } of bars) {
    const away = Math.max(x - point.x, point.x - (x + w), 0);
    if (point.y < y || point.y > y + h || away > 2) continue;
    if (away * 1000 + w < least) [best, least] = [activity, away * 1000 + w];
  }
  return best;
}

/**
 * Return the target of an arrow key: left and right along the row, up and down to the nearest activity in time.
 * @param {Chart} chart
 * @param {Activity | null} here
 * @param {"left" | "right" | "up" | "down"} direction
 * @returns {Activity | null}
 */
export function nextActivity({ rows, activities }, here, direction) {
  if (!here) return rows.find((row) => row.activities.length)?.activities[0] ?? activities[0];
  const at = rows.findIndex((row) => row.activities.includes(here));
  const row = rows[at]?.activities ?? [];
  if (direction === "left" || direction === "right")
    return row[row.indexOf(here) + (direction === "right" ? 1 : -1)] ?? here;
  const step = direction === "down" ? 1 : -1;
  for (let i = at + step; i >= 0 && i < rows.length; i += step)
    if (rows[i].activities.length) return nearest(rows[i].activities, (here.start + here.end) / 2);
  return here;
}

/**
 * @param {Activity[]} activities
 * @param {number} seconds
 */
function nearest(activities, seconds) {
  const away = (/** @type {Activity} */ a) => Math.max(a.start - seconds, seconds - a.end, 0);
  return activities.reduce((best, each) => (away(each) < away(best) ? each : best));
}

/**
 * Return the next or previous activity on the critical path; from other activities, the nearest on the path.
 * @param {Chart} chart
 * @param {Activity | null} here
 * @param {1 | -1} by
 * @returns {Activity | null}
 */
export function nextCritical({ path }, here, by) {
  if (path.length === 0) return null;
  if (!here) return by > 0 ? path[0] : path[path.length - 1];
  const at = path.indexOf(here);
  if (at >= 0) return path[at + by] ?? here;
  return nearest(path, here.start);
}

/**
 * Zoom a time span around a point in it.
 * @param {Span} span
 * @param {number} factor below 1 to zoom in
 * @param {number} at position of the fixed point, as a share of the view
 * @returns {Span}
 */
export function zoomed([from, to], factor, at = 0.5) {
  const width = Math.min(1, Math.max(LEAST, (to - from) * factor));
  return shifted([0, width], from + (to - from) * at - width * at);
}

/**
 * Shift a time span by a share of the whole, within bounds.
 * @param {Span} span
 * @param {number} by
 * @returns {Span}
 */
export function shifted([from, to], by) {
  const start = Math.min(1 - (to - from), Math.max(0, from + by));
  return [start, start + (to - from)];
}

/**
 * Move a time span so that an activity is in view.
 * @param {Chart} chart
 * @param {Span} span
 * @param {Activity} activity
 * @returns {Span}
 */
export function broughtIntoView({ whole }, span, { start, end }) {
  const [a, b] = [start / (whole || 1), end / (whole || 1)];
  if (a >= span[0] && b <= span[1]) return span;
  return shifted(span, (a + b) / 2 - (span[0] + span[1]) / 2);
}
