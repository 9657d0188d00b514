import assert from "node:assert/strict";
import test from "node:test";
import { linesFor, loopLine } from "../../../static/js/text/links.js";

const LINKS = { kernel: 0, llvm: [-1, 2, 5, 5, 2], asm: [-1, 3, 3, 1, 0] };

test("a line of assembly links through LLVM IR to the loops", () => {
  assert.equal(loopLine(LINKS, "asm", 1), 5);
  assert.equal(loopLine(LINKS, "asm", 3), 2);
  assert.equal(loopLine(LINKS, "llvm", 4), 2);
  assert.equal(loopLine(LINKS, "loops", 7), 7);
});

test("lines without a source have no links", () => {
  assert.equal(loopLine(LINKS, "asm", 0), -1);
  assert.equal(loopLine(LINKS, "asm", 4), -1);
  assert.equal(loopLine(LINKS, "asm", 99), -1);
  assert.equal(loopLine(null, "llvm", 1), -1);
});

test("a line of the loops links to all lines generated from it", () => {
  assert.deepEqual([...linesFor(LINKS, "llvm", 5, 5)], [2, 3]);
  assert.deepEqual([...linesFor(LINKS, "asm", 5, 5)], [1, 2]);
  assert.deepEqual([...linesFor(LINKS, "asm", -1, 5)], []);
});
