import assert from "node:assert/strict";
import test from "node:test";
import { clip } from "../../../static/js/graph/pen.js";

/** A canvas whose letters are one wide, capitals four. @param {string} font */
function canvas(font) {
  const asked = /** @type {string[]} */ ([]);
  const widthOf = (/** @type {string} */ text) => [...text].reduce((sum, c) => sum + (/[A-Z]/.test(c) ? 4 : 1), 0);
  const context = { font, measureText: (/** @type {string} */ text) => (asked.push(text), { width: widthOf(text) }) };
  return { asked, widthOf, context: /** @type {CanvasRenderingContext2D} */ (/** @type {unknown} */ (context)) };
}

test("a text that fits is complete, and a longer text loses its middle", () => {
  const { context, widthOf } = canvas("one");
  assert.equal(clip(context, "sigmoid", 7), "sigmoid");
  assert.equal(clip(context, "abcdefghij", 6), "abc…ij");
  const wide = clip(context, "ABCDEFaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 20);
  assert.ok(widthOf(wide) <= 20, wide);
  assert.match(wide, /^A.*…a+$/);
});

test("a list that does not fit loses its last items", () => {
  const { context } = canvas("list");
  assert.equal(clip(context, "4 nodes: div, reshape, transpose", 25), "4 nodes: div, reshape, …");
  assert.equal(clip(context, "4 nodes: div, reshape, transpose", 16), "4 nodes: div, …");
  assert.equal(clip(context, "4 nodes: batch_norm, add", 8), "4 nodes");
  assert.equal(clip(context, "4 nodes: batch_norm, add", 5), "4 …dd");
});

test("a clipped text is measured again only for another font or width", () => {
  const { context, asked } = canvas("two");
  clip(context, "reduce_mean", 30);
  clip(context, "reduce_mean", 30);
  assert.equal(asked.length, 1);
  clip(context, "reduce_mean", 31);
  context.font = "three";
  clip(context, "reduce_mean", 30);
  assert.equal(asked.length, 3);
});
