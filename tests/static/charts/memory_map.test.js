import assert from "node:assert/strict";
import test from "node:test";
import {
  atFullest,
  layoutMemory,
  nextBuffer,
  niceTicks,
  rectAt,
} from "../../../static/js/charts/memory_map.js";

const buffer = (
  /** @type {number} */ index,
  /** @type {number} */ start,
  /** @type {number} */ end,
  /** @type {number} */ offset,
  /** @type {number} */ size,
) => ({ buffer: index, name: `b${index}`, start, end, offset, size, values: [`b${index}`] });
// b0 and b1 overlap in time; b2 reuses the memory of b0.
const memory = {
  planner: null,
  order: null,
  peak_bytes: 3000,
  lower_bound_bytes: 2500,
  live_peak_bytes: 3000,
  unshared_bytes: 5000,
  over_bound: 0.2,
  idle_share: 4000 / 26000,
  n_buffers: 3,
  n_steps: 10,
  live_bytes: [1000, 1000, 3000, 3000, 2500, 2500, 2500, 2500, 2000, 2000],
  used_bytes: [1000, 1000, 3000, 3000, 3000, 3000, 3000, 3000, 3000, 3000],
  fullest_step: 2,
  handovers: [{ before: 0, after: 2, n_bytes: 500 }],
  buffers: [buffer(0, 0, 4, 0, 1000), buffer(1, 2, 10, 1000, 2000), buffer(2, 4, 8, 0, 500)],
};
const size = { width: 562, height: 348 };

test("rectangles span their steps and bytes, with offsets upwards", () => {
  const { rects, plot } = layoutMemory(memory, size);
  const [first, second] = rects;
  assert.equal(first.x, plot.left);
  assert.equal(first.y + first.h, plot.bottom);
  assert.ok(Math.abs(first.w - 0.4 * (plot.right - plot.left)) < 1e-9);
  assert.ok(Math.abs(second.y - plot.top) < 1e-9);
  assert.ok(Math.abs(second.y + second.h - first.y) < 1e-9);
});

test("buffers without common steps or bytes do not overlap in the chart", () => {
  const { rects } = layoutMemory(memory, size);
  for (const a of rects) {
    for (const b of rects) {
      if (a === b) continue;
      const w = Math.min(a.x + a.w, b.x + b.w) - Math.max(a.x, b.x);
      const h = Math.min(a.y + a.h, b.y + b.h) - Math.max(a.y, b.y);
      assert.ok(w <= 1e-9 || h <= 1e-9, `${a.buffer.name} and ${b.buffer.name}`);
    }
  }
});

test("the peak is above the lower bound", () => {
  const { peakY, boundY, plot } = layoutMemory(memory, size);
  assert.ok(peakY < boundY);
  assert.equal(peakY, plot.top);
});

test("a point finds the buffer that contains it, and nothing outside buffers", () => {
  const { rects } = layoutMemory(memory, size);
  for (const rect of rects)
    assert.equal(rectAt(rects, { x: rect.x + rect.w / 2, y: rect.y + rect.h / 2 }), rect);
  assert.equal(rectAt(rects, { x: 1, y: 1 }), null);
});

test("an empty plan can be drawn", () => {
  const map = layoutMemory(
    {
      planner: null,
      order: null,
      peak_bytes: 0,
      lower_bound_bytes: 0,
      live_peak_bytes: 0,
      unshared_bytes: 0,
      over_bound: null,
      idle_share: 0,
      n_buffers: 0,
      n_steps: 0,
      live_bytes: [],
      used_bytes: [],
      fullest_step: 0,
      handovers: [],
      buffers: [],
    },
    { width: 0, height: 0 },
  );
  assert.deepEqual(map.rects, []);
  assert.ok(Number.isFinite(map.peakY) && Number.isFinite(map.boundY));
});

test("arrow keys select buffers by time and among simultaneously live buffers", () => {
  assert.equal(nextBuffer(memory, -1, "right"), 0);
  assert.equal(nextBuffer(memory, 0, "right"), 1);
  assert.equal(nextBuffer(memory, 1, "right"), 2);
  assert.equal(nextBuffer(memory, 2, "right"), 2);
  assert.equal(nextBuffer(memory, 0, "up"), 1);
  assert.equal(nextBuffer(memory, 1, "down"), 2);
});

test("an arrow leads from the end of a buffer to the buffer that reuses its memory, inside their common range", () => {
  const { edges, rects } = layoutMemory(memory, size);
  assert.equal(edges.length, 1);
  const [from, , to] = rects;
  assert.ok(Math.abs(edges[0].x1 - (from.x + from.w)) < 1e-9);
  assert.equal(edges[0].x2, to.x);
  assert.ok(Math.abs(edges[0].y - (to.y + to.h / 2)) < 1e-9);
});

test("the curves below the chart span the same steps, and live bytes never exceed the extent", () => {
  const { below, fullest, live, plot, used } = layoutMemory(memory, size);
  assert.ok(below.top > plot.bottom);
  assert.equal(live.length, 2 * memory.n_steps);
  assert.equal(live[0].x, plot.left);
  assert.ok(Math.abs(live[live.length - 1].x - plot.right) < 1e-9);
  assert.ok(live.every(({ y }, i) => y >= used[i].y && y <= below.bottom && y >= below.top - 1e-9));
  assert.ok(Math.min(...live.map(({ y }) => y)) === fullest.y);
  assert.ok(fullest.x > live[4].x && fullest.x < live[5].x);
});

test("the buffers of the peak step are listed by decreasing size", () => {
  assert.deepEqual(
    atFullest(memory).map((each) => each.buffer),
    [1, 0],
  );
});

test("ticks are few round numbers from 0", () => {
  assert.deepEqual(niceTicks(40, 5), [0, 10, 20, 30, 40]);
  assert.deepEqual(niceTicks(3, 8), [0, 1, 2, 3]);
  for (const limit of [1, 1000, 5120, 9_265_152, 3e11]) {
    const ticks = niceTicks(limit, 6);
    assert.equal(ticks[0], 0);
    assert.ok(ticks.length >= 2 && ticks.length <= 8, `${limit}: ${ticks}`);
    assert.ok(ticks[ticks.length - 1] <= limit * 1.001);
  }
});
