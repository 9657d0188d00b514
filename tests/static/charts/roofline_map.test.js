import assert from "node:assert/strict";
import test from "node:test";
import { ceilingsOf, clearPlace, layoutRoofline, nextByTime, nextSpot, spotAt, spotsOf } from "../../../static/js/charts/roofline_map.js";

/** @type {any} */
const machine = {
  n_processors: 4,
  call_s: 1e-7,
  peaks: [
    { unit: "f32", flops_per_second: 1e11, is_used: true },
    { unit: "int8", flops_per_second: 4e11, is_used: false },
    { unit: "bf16_tiles", flops_per_second: 1e12, is_used: true },
  ],
  levels: [
    { level: "L1", bytes: 1000, bytes_per_second: 2e11 },
    { level: "DRAM", bytes: null, bytes_per_second: 1e10 },
  ],
};
const row = { ceiling_flops_per_s: null, reached: null, bound: "compute" };
/** @type {any} */
const profile = {
  machine,
  threads: 2,
  kernels: [
    { ...row, kernel: 0, flops: 1e6, bytes: 1e4, flops_per_byte: 100, flops_per_s: 1e10, median_s: 1e-4, low_s: 0.8e-4, high_s: 2e-4, ceiling_flops_per_s: 5e10, reached: 0.2 },
    { ...row, kernel: 1, flops: 0, bytes: 1e4, median_s: 1e-5, low_s: 1e-5, high_s: 1e-5 },
    { ...row, kernel: 2, flops: 1e3, bytes: 1e4, flops_per_byte: 0.1, flops_per_s: 1e9, median_s: 1e-6, low_s: 1e-6, high_s: 1e-6, bound: "overhead" },
    { ...row, kernel: 3, flops: 1e5, bytes: 1e4, flops_per_byte: 10, flops_per_s: 1e10, median_s: 1e-5, low_s: 1e-5, high_s: 1.1e-5 },
  ],
};
const kernels = /** @type {any} */ ([0, 1, 2, 3].map((number) => ({ kernel: number, name: `k${number}` })));
const spots = spotsOf(profile, kernels);
const ceilings = ceilingsOf(profile);

test("a kernel has its intensity, its speed with an interval, and its fraction of the ceiling", () => {
  assert.deepEqual(spots.map((each) => each.kernel.kernel), [0, 2, 3]);
  const [first, second] = spots;
  assert.equal(first.intensity, 100);
  assert.ok(Math.abs(first.rate - 1e10) < 1);
  assert.ok(first.low < first.rate && first.rate < first.high);
  assert.ok(Math.abs((first.ceiling ?? 0) - 5e10) < 10);
  assert.ok(Math.abs((first.reached ?? 0) - 0.2) < 1e-9);
  assert.deepEqual([first.tiny, second.tiny, second.ceiling], [false, true, null]);
});

test("only reachable ceilings are drawn, and threads multiply the speeds of a core", () => {
  assert.deepEqual(
    ceilings.map(({ name, speed, n_cores }) => [name, speed, n_cores]),
    [["f32", 2e11, 2], ["bf16_tiles", 2e12, 2], ["L1", 4e11, 2], ["DRAM", 2e10, 2]],
  );
  assert.equal(ceilingsOf({ ...profile, threads: 64 })[0].n_cores, 4);
});

test("powers of ten are equidistant, and slopes meet the highest peak", () => {
  const map = layoutRoofline(spots, ceilings, { width: 500, height: 300 });
  const gaps = map.xTicks.slice(1).map((each, i) => each.x - map.xTicks[i].x);
  assert.ok(gaps.length >= 3);
  for (const gap of gaps) assert.ok(Math.abs(gap - gaps[0]) < 1e-6);
  const at = (/** @type {string} */ name) => /** @type {any} */ (map.lines.find((each) => each.ceiling.name === name));
  assert.equal(at("f32").y1, at("f32").y2);
  assert.ok(at("bf16_tiles").y1 < at("f32").y1);
  assert.ok(Math.abs(at("L1").y2 - at("bf16_tiles").y1) < 1e-6);
  assert.ok(at("L1").x2 < at("DRAM").x2);
  for (const { x, y, r } of map.points) {
    assert.ok(x > map.plot.left && x < map.plot.right && y > map.plot.top && y < map.plot.bottom);
    assert.ok(r >= 3);
  }
  assert.equal(map.points[0].spot, spots[0]);
  assert.ok(map.points[0].highY < map.points[0].y && map.points[0].y < map.points[0].lowY);
});

test("the pointer selects the smallest point under it, or a point close to it", () => {
  const map = layoutRoofline(spots, ceilings, { width: 500, height: 300 });
  const [{ x, y, r }] = map.points;
  assert.equal(spotAt(map, { x, y }), spots[0]);
  assert.equal(spotAt(map, { x: x + r + 3, y }), spots[0]);
  assert.equal(spotAt(map, { x: x + r + 60, y: y + 60 }), null);
  const small = { ...map.points[0], r: 2, spot: spots[2] };
  assert.equal(spotAt({ ...map, points: [map.points[0], small] }, { x: x + 1, y }), spots[2]);
});

test("shortcuts step through kernels by intensity, speed and time", () => {
  assert.equal(nextSpot(spots, null, "right"), spots[1]);
  assert.equal(nextSpot(spots, spots[1], "right"), spots[2]);
  assert.equal(nextSpot(spots, spots[0], "right"), spots[0]);
  assert.equal(nextSpot(spots, spots[0], "left"), spots[2]);
  assert.equal(nextSpot(spots, spots[1], "down"), spots[1]);
  assert.equal(nextByTime(spots, null, 1), spots[0]);
  assert.equal(nextByTime(spots, spots[0], 1), spots[2]);
  assert.equal(nextByTime(spots, spots[2], -1), spots[0]);
});

test("the name of a peak covers no kernel if there is space", () => {
  const plot = { left: 0, top: 0, right: 500, bottom: 300 };
  const point = (/** @type {number} */ x, /** @type {number} */ y) => /** @type {any} */ ({ x, y, r: 5 });
  assert.deepEqual(clearPlace({ plot, points: [] }, 100, 80), { x: 496, isAbove: true });
  assert.deepEqual(clearPlace({ plot, points: [point(450, 95)] }, 100, 80), { x: 440, isAbove: true });
  assert.deepEqual(clearPlace({ plot, points: [point(450, 90)] }, 100, 80), { x: 496, isAbove: false });
  const everywhere = Array.from({ length: 50 }, (_, i) => point(i * 10, 100));
  assert.deepEqual(clearPlace({ plot, points: everywhere }, 100, 80), { x: 496, isAbove: true });
});
