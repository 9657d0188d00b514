import assert from "node:assert/strict";
import test from "node:test";
import { cutLists, putBack } from "../../../static/js/server/cuts.js";

/** @param {unknown} value @param {number} most */
function there(value, most) {
  const whole = structuredClone(value);
  const cuts = structuredClone(cutLists(whole, most));
  return { whole: structuredClone(whole), cuts };
}

/** @param {unknown} value @param {number} most */
function thereAndBack(value, most) {
  const { whole, cuts } = there(value, most);
  for (const cut of cuts) putBack(whole, cut);
  return whole;
}

const node = (/** @type {number} */ i) => ({ id: `n${i}`, origins: [`a${i}`, `b${i}`], attrs: {}, types: [] });
const nodes = Array.from({ length: 40 }, (_, i) => node(i));
const values = [
  null,
  7,
  "text",
  [],
  {},
  [1, [2, [3, []]], { a: null }],
  { stage: 3, nodes: [[0, 5, nodes], [9, 12, []]], edges: [[0, 0, nodes.map(({ id }, i) => [id, i])]] },
  [nodes, { inside: nodes, beside: [nodes.slice(0, 3), nodes] }, "end"],
];

test("a value that is cut and reassembled is unchanged for every cut size", () => {
  for (const most of [1, 2, 7, 30, 10_000])
    for (const value of values) assert.deepEqual(thereAndBack(value, most), value, `${most}`);
});

test("no piece exceeds the requested size, and a small value stays in one piece", () => {
  const { whole, cuts } = there(values[6], 30);
  assert.deepEqual(whole, { stage: 3, nodes: [], edges: [] });
  assert.ok(cuts.length > 5);
  const count = (/** @type {unknown} */ value) => JSON.stringify(value).split(/[,:]/).length;
  for (const { items } of cuts) assert.ok(count(items) <= 60, JSON.stringify(items));
  assert.deepEqual(there(values[6], 10_000).cuts, []);
});
