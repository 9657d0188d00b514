import assert from "node:assert/strict";
import test from "node:test";

const sentence = (/** @type {string} */ key, /** @type {string} */ many, /** @type {string | null} */ one) => ({
  textContent: many,
  getAttribute: (/** @type {string} */ name) => (name === "data-word" ? key : one),
});
class Template {
  content = { querySelectorAll: () => [sentence("follows", "{a} goes to  {b}.", null), sentence("n", "{n} nodes", "1 node")] };
}
Object.assign(globalThis, { HTMLTemplateElement: Template, document: { getElementById: () => new Template() } });
const { word } = await import("../../../static/js/text/words.js");

test("a sentence contains its values, and the singular for a count of one", () => {
  assert.equal(word("follows", { a: "{b}", b: "<i>$&</i>" }), "{b} goes to <i>$&</i>.");
  assert.deepEqual([word("n", { n: 1 }), word("n", { n: 2 })], ["1 node", "2 nodes"]);
});

test("a name with characters that change the text direction affects only itself", () => {
  assert.equal(word("follows", { a: "\u202egnp", b: "עולם" }), "\u2068\u202egnp\u2069 goes to \u2068עולם\u2069.");
  assert.equal(word("follows", { a: "日本", b: "é" }), "日本 goes to é.");
});
