import assert from "node:assert/strict";
import { test } from "node:test";
import { openInputs, parseDims, sizesProblem, wrongSizes } from "../../../static/js/text/sizes.js";

const image = { name: "image", type: "f32[N,3,H,W]", dims: [1, 3, 224, 224] };

test("sizes are numbers with commas or crosses between them", () => {
  assert.deepEqual(parseDims("1, 3,224x224"), [1, 3, 224, 224]);
  assert.deepEqual(parseDims(" "), []);
  for (const text of ["abc", "1,,8", "1,-1", "1.5", "1 2", "12345678901"]) assert.equal(parseDims(text), null);
});

test("a problem names the expected rank, the names of the sizes and an example", () => {
  assert.equal(sizesProblem("", image), null);
  assert.equal(sizesProblem("2,3,64,32", image), null);
  const values = { n: 4, example: "1,3,224,224", form: "N,3,H,W" };
  assert.deepEqual(sizesProblem("abc", image), { key: "shapes.not-sizes", values });
  assert.deepEqual(sizesProblem("1,3,8", image), { key: "shapes.count-form", values });
  assert.deepEqual(sizesProblem("1,3,8", { ...image, type: "" })?.key, "shapes.count");
  assert.deepEqual(sizesProblem("1,1,8,8", image), { key: "shapes.fixed", values: { ...values, n: 2, size: "3" } });
});

test("the first wrong sizes of a page are found, also of inputs that are not open", () => {
  const page = {
    model: "upload:1",
    samples: null,
    inspected: /** @type {any} */ ({ inputs: [image], shapes: { image: { dims: image.dims, assumed: true } } }),
    shapes: { image: "1,3,8,8" },
  };
  assert.deepEqual(openInputs(page), [image]);
  assert.equal(wrongSizes(page), null);
  assert.equal(wrongSizes({ ...page, shapes: { image: "1" } })?.name, "image");
  assert.equal(wrongSizes({ ...page, shapes: { mask: "?" } })?.key, "shapes.not-sizes");
});
