import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { KEYS, chord, findKey } from "../../../static/js/elements/keys.js";

const press = (/** @type {string} */ key, modifiers = {}) =>
  chord({ key, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...modifiers });
const walking = { where: "walk", inGraph: false, single: true };

test("no two keyboard shortcuts of the same context and scope share a key", () => {
  for (const a of KEYS) {
    for (const b of KEYS) {
      const meet =
        a.scope === b.scope &&
        (a.where === b.where || a.where === "anywhere" || b.where === "anywhere");
      if (a === b || !meet) continue;
      assert.deepEqual(
        a.keys.filter((key) => b.keys.includes(key)),
        [],
        `${a.id} and ${b.id}`,
      );
    }
  }
});

test("the list of keyboard shortcuts describes every key", () => {
  const words = readFileSync(new URL("../../../templates/words/keys.html", import.meta.url), "utf8");
  for (const { id } of KEYS) assert.ok(words.includes(`data-word="key.${id}"`), id);
  assert.equal(new Set(KEYS.map((key) => key.id)).size, KEYS.length);
});

test("Shift is named for keys that print no character", () => {
  assert.equal(press("?", { shiftKey: true }), "?");
  assert.equal(press("ArrowDown", { shiftKey: true }), "Shift+ArrowDown");
  assert.equal(press("f", { ctrlKey: true }), "Control+f");
});

test("arrow keys step through passes, or through nodes if the drawing has the focus", () => {
  assert.equal(findKey("ArrowDown", walking)?.id, "next-pass");
  assert.equal(findKey("ArrowDown", { ...walking, inGraph: true })?.id, "node-after");
  assert.equal(findKey("j", { ...walking, inGraph: true })?.id, "next-pass");
});

test("shortcuts of a single letter can be disabled, and other shortcuts stay enabled", () => {
  assert.equal(findKey("j", { ...walking, single: false }), undefined);
  assert.equal(findKey("?", { ...walking, single: false }), undefined);
  assert.equal(findKey("ArrowDown", { ...walking, single: false })?.id, "next-pass");
  assert.equal(findKey(" ", { ...walking, inGraph: true, single: false })?.id, "node-select");
});

test("shortcuts of the pass view do nothing on the start page", () => {
  assert.equal(findKey("j", { ...walking, where: "start" }), undefined);
  assert.equal(findKey("Control+Enter", { ...walking, where: "start" })?.id, "compile");
  assert.equal(findKey("?", { ...walking, where: "start" })?.id, "help");
});
