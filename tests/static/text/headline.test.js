import assert from "node:assert/strict";
import test from "node:test";

const WORDS = {
  "header.sizes": ["{name} {dims}", null],
  "header.assumed": ["{sizes} (assumed)", null],
  "header.empty-outputs": ["outputs {names}", "output {names}"],
  "header.empty-values": ["{n}, such as {first}", "{first}"],
};
class Template {
  content = {
    querySelectorAll: () =>
      Object.entries(WORDS).map(([key, [many, one]]) => ({
        textContent: many,
        getAttribute: (/** @type {string} */ name) => (name === "data-word" ? key : one),
      })),
  };
}
Object.assign(globalThis, { HTMLTemplateElement: Template, document: { getElementById: () => new Template() } });
const { emptyWords, sizesOf } = await import("../../../static/js/text/headline.js");

test("the sizes of open inputs are named, and marked if they are assumed", () => {
  const inputs = [
    { name: "x", type: "f32[N,3,?,W]" },
    { name: "w", type: "f32[8, 3]" },
    { name: "s", type: "f32[]" },
    { name: "y", type: "f32[N]" },
  ];
  const shapes = {
    x: { dims: [1, 3, 8, 8], assumed: true },
    w: { dims: [8, 3], assumed: false },
    s: { dims: [], assumed: false },
    y: { dims: [4], assumed: false },
  };
  assert.equal(sizesOf({ inputs, shapes }), "x 1×3×8×8 (assumed), y 4");
  assert.equal(sizesOf({ inputs: inputs.slice(1, 3), shapes }), "");
});

test("empty outputs are warned of before other empty values", () => {
  assert.equal(emptyWords({ empty: { outputs: [], n_values: 0, first: "" } }), "");
  assert.equal(emptyWords({ empty: { outputs: ["a", "b"], n_values: 3, first: "c" } }), "outputs a, b");
  assert.equal(emptyWords({ empty: { outputs: [], n_values: 3, first: "c" } }), "3, such as c");
});
