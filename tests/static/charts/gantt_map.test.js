import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import {
  WHOLE,
  activityAt,
  broughtIntoView,
  chartOf,
  heightOf,
  layoutGantt,
  nextActivity,
  nextCritical,
  shifted,
  zoomed,
} from "../../../static/js/charts/gantt_map.js";

/** @param {string} name */
const golden = (name) =>
  JSON.parse(readFileSync(new URL(`../../golden/wire/${name}.json`, import.meta.url), "utf8"));

const device = { flops_per_second: 1, bytes_per_second: 1, seconds_per_kernel: 0, operators: null };
/** @type {import("../../../static/js/wire.js").Platform} */
const platform = {
  name: "toy",
  words: "",
  home: "ram",
  memories: [
    { name: "ram", nbytes: null, keeps_weights: true, handover_seconds: 0 },
    { name: "sram", nbytes: 100, keeps_weights: false, handover_seconds: 0 },
  ],
  devices: [
    { name: "cpu", memory: "ram", ...device },
    { name: "npu", memory: "sram", ...device },
  ],
  links: [
    { name: "dma", joins: ["ram", "sram"], latency_seconds: 0, bytes_per_second: 1, channels: 2 },
    { name: "idle", joins: ["ram", "sram"], latency_seconds: 0, bytes_per_second: 1, channels: 1 },
  ],
};
const task = (
  /** @type {string} */ name,
  /** @type {string} */ on,
  /** @type {number} */ start,
  /** @type {number} */ end,
  /** @type {boolean} */ is_critical,
) => ({ task: name, device: on, start, end, operators: [], origins: [`onnx ${name}`], is_critical });
const move = (
  /** @type {string} */ datum,
  /** @type {string} */ of,
  /** @type {number} */ start,
  /** @type {number} */ end,
  /** @type {boolean} */ is_critical,
) => ({
  datum,
  link: "dma",
  source: "ram",
  to: "sram",
  start,
  end,
  nbytes: 7,
  task: of,
  is_critical,
});
/** @type {import("../../../static/js/wire.js").Placement} */
const placement = {
  scheduler: "heft",
  platform: "toy",
  makespan_seconds: 10,
  bound_seconds: 8,
  ahead: null,
  notes: [],
  peak_bytes: { ram: 50, sram: 90 },
  busy_seconds: { cpu: 5, npu: 4, dma: 4 },
  held_bytes: { ram: [[0, 50]], sram: [[0, 0], [1, 90], [9, 10]] },
  tasks: [task("a", "cpu", 0, 3, true), task("b", "npu", 5, 9, true), task("c", "cpu", 4, 6, false)],
  moves: [move("a", "a", 3, 5, true), move("w", "b", 1, 3.5, false), move("y", "b", 9, 10, true)],
};
const chart = chartOf(platform, placement);
const size = { width: 600, height: heightOf(chart) };

test("each device and each used channel of a link has a separate row", () => {
  assert.deepEqual(
    chart.rows.map(({ name, activities }) => [name, activities.map((each) => each.name)]),
    [
      ["cpu", ["a", "c"]],
      ["npu", ["b"]],
      ["dma", ["w", "y"]],
      ["dma", ["a"]],
    ],
  );
});

test("a transfer has the node and the origins of its value", () => {
  const moved = chart.activities.find((each) => each.name === "w");
  assert.deepEqual([moved?.task, moved?.origins, moved?.way], ["b", ["onnx b"], "ram → sram"]);
});

test("bars span their time in the row of their device", () => {
  const { bars, plot, boundX, ticks } = layoutGantt(chart, WHOLE, size);
  const at = (/** @type {string} */ name) => bars.find((bar) => bar.activity.name === name);
  const width = plot.right - plot.left;
  assert.equal(at("a")?.x, plot.left);
  assert.ok(Math.abs((at("a")?.w ?? 0) - 0.3 * width) < 1e-9);
  assert.ok(Math.abs((at("b")?.x ?? 0) - (plot.left + 0.5 * width)) < 1e-9);
  assert.ok((at("b")?.y ?? 0) > (at("a")?.y ?? 0));
  assert.ok(Math.abs((boundX ?? 0) - (plot.left + 0.8 * width)) < 1e-9);
  assert.deepEqual(
    ticks.map(({ seconds }) => seconds),
    [0, 2, 4, 6, 8, 10],
  );
});

test("a time range shows only its own bars, enlarged", () => {
  const { bars, plot, ticks } = layoutGantt(chart, [0.5, 0.75], size);
  assert.deepEqual(
    new Set(bars.map((bar) => bar.activity.name)),
    new Set(["b", "c", "a"]), // the transfer of a ends at the start of the interval
  );
  for (const { x, w } of bars) assert.ok(x >= plot.left && x + w <= plot.right + 1);
  assert.ok(ticks.every(({ seconds }) => seconds >= 5 && seconds <= 7.5));
});

test("the curves of memory use are proportional and within their rows", () => {
  const { stores } = layoutGantt(chart, WHOLE, size);
  const [, sram] = stores;
  assert.equal(sram.corners[2].y, sram.box.top);
  assert.equal(sram.corners.length, 6);
  assert.equal(sram.corners[5].x, sram.box.right);
});

test("a point finds the bar under it, and a narrow bar close to it", () => {
  const map = layoutGantt(chart, WHOLE, size);
  const bar = map.bars.find((each) => each.activity.name === "b");
  assert.ok(bar);
  assert.equal(activityAt(map, { x: bar.x + 5, y: bar.y + 5 })?.name, "b");
  assert.equal(activityAt(map, { x: bar.x + bar.w + 1, y: bar.y + 5 })?.name, "b");
  assert.equal(activityAt(map, { x: bar.x + 5, y: bar.y - 20 })?.name ?? "", "c");
  assert.equal(activityAt(map, { x: bar.x + bar.w + 9, y: bar.y + 5 }), null);
});

test("arrow keys reach every bar, and shortcuts follow the critical path from start to end", () => {
  const named = (/** @type {string} */ name) =>
    chart.activities.find((each) => each.name === name && each.kind === "task") ?? null;
  const a = nextActivity(chart, null, "right");
  assert.equal(a, named("a"));
  assert.equal(nextActivity(chart, a, "right"), named("c"));
  assert.equal(nextActivity(chart, named("c"), "right"), named("c"));
  assert.equal(nextActivity(chart, named("c"), "down"), named("b"));
  assert.equal(nextActivity(chart, named("b"), "up"), named("c"));
  const names = [];
  for (let at = nextCritical(chart, null, 1), i = 0; at && i < 4; i += 1) {
    names.push(`${at.kind} ${at.name}`);
    at = nextCritical(chart, at, 1);
  }
  assert.deepEqual(names, ["task a", "move a", "task b", "move y"]);
  assert.equal(nextCritical(chart, null, -1)?.name, "y");
});

test("zooming keeps a point fixed, stays within the run, and can return to the complete run", () => {
  assert.deepEqual(zoomed(WHOLE, 0.5, 0), [0, 0.5]);
  assert.deepEqual(zoomed([0, 0.5], 0.5, 1), [0.25, 0.5]);
  assert.deepEqual(zoomed([0.25, 0.5], 100), WHOLE);
  assert.deepEqual(shifted([0.25, 0.5], 9), [0.75, 1]);
  assert.deepEqual(shifted([0.25, 0.5], -9), [0, 0.25]);
  const b = chart.activities[1];
  assert.deepEqual(broughtIntoView(chart, [0, 0.5], b), [0.44999999999999996, 0.95]);
  assert.deepEqual(broughtIntoView(chart, [0.4, 1], b), [0.4, 1]);
});

test("a schedule from the server is drawn completely, also if it is empty", () => {
  const platforms = golden("platforms").platforms;
  const made = golden("placement");
  const found = chartOf(
    platforms.find((/** @type {{name: string}} */ each) => each.name === made.platform),
    made,
  );
  const map = layoutGantt(found, WHOLE, size);
  assert.equal(map.bars.length, made.tasks.length + made.moves.length);
  for (const bar of map.bars) assert.ok(Object.values(bar).every((x) => !Number.isNaN(x)));
  const none = chartOf(platform, {
    ...placement,
    makespan_seconds: 0,
    bound_seconds: 0,
    tasks: [],
    moves: [],
  });
  assert.deepEqual(layoutGantt(none, WHOLE, size).bars, []);
  assert.equal(nextCritical(none, null, 1), null);
});
