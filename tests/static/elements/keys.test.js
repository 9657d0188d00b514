import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { KEYS, chord, findKey } from "../../../static/js/elements/keys.js";

const press = (/** @type {string} */ key, modifiers = {}) =>
  chord({ key, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...modifiers });
const walking = { where: "walk", inGraph: false, single: true };

test("no two rows of one place and scope share a key", () => {
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

test("every key has words in the list of keys", () => {
  const words = readFileSync(new URL("../../../templates/words/keys.html", import.meta.url), "utf8");
  for (const { id } of KEYS) assert.ok(words.includes(`data-word="key.${id}"`), id);
  assert.equal(new Set(KEYS.map((key) => key.id)).size, KEYS.length);
});

test("shift is part of a printed character, and named for the others", () => {
  assert.equal(press("?", { shiftKey: true }), "?");
  assert.equal(press("ArrowDown", { shiftKey: true }), "Shift+ArrowDown");
  assert.equal(press("f", { ctrlKey: true }), "Control+f");
});

test("arrows step passes, and walk nodes while the drawing has the focus", () => {
  assert.equal(findKey("ArrowDown", walking)?.id, "next-pass");
  assert.equal(findKey("ArrowDown", { ...walking, inGraph: true })?.id, "node-after");
  assert.equal(findKey("j", { ...walking, inGraph: true })?.id, "next-pass");
});

test("single letters can be switched off; other keys stay", () => {
  assert.equal(findKey("j", { ...walking, single: false }), undefined);
  assert.equal(findKey("?", { ...walking, single: false }), undefined);
  assert.equal(findKey("ArrowDown", { ...walking, single: false })?.id, "next-pass");
  assert.equal(findKey(" ", { ...walking, inGraph: true, single: false })?.id, "node-select");
});

test("keys of the walk do nothing at the start", () => {
  assert.equal(findKey("j", { ...walking, where: "start" }), undefined);
  assert.equal(findKey("Control+Enter", { ...walking, where: "start" })?.id, "compile");
  assert.equal(findKey("?", { ...walking, where: "start" })?.id, "help");
});
