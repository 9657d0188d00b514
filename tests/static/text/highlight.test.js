import assert from "node:assert/strict";
import test from "node:test";
import { highlight } from "../../../static/js/text/highlight.js";

const kinds = (/** @type {string} */ language, /** @type {string} */ line) =>
  highlight(language, line)
    .filter(([kind]) => kind)
    .map(([kind, text]) => `${kind}:${text.trim()}`);

test("the concatenated pieces equal the line", () => {
  const lines = [
    "  %3 = load <16 x float>, ptr %x, align 64 ; note",
    "\tvfmadd231ps\t%zmm1, %zmm2, %zmm3 # c",
    "for i in 0..56 vector 16:",
    "",
    "  ",
  ];
  for (const language of ["llvm", "asm", "loops", "computation", "schedule", "none"]) {
    for (const line of lines)
      assert.equal(
        highlight(language, line)
          .map(([, text]) => text)
          .join(""),
        line,
      );
  }
});

test("vectors, names and instructions are highlighted in LLVM IR", () => {
  assert.deepEqual(kinds("llvm", "  %3 = load <16 x float>, ptr %x"), [
    "name:%3",
    "keyword:load",
    "vector:<16 x float>",
    "type:ptr",
    "name:%x",
  ]);
});

test("instructions, vector registers and comments are highlighted in assembly", () => {
  assert.deepEqual(kinds("asm", "\tvmovups\t(%rdi), %zmm0 # load"), [
    "keyword:vmovups",
    "name:%rdi",
    "vector:%zmm0",
    "comment:# load",
  ]);
  assert.deepEqual(kinds("asm", ".LBB0_1:"), ["label:.LBB0_1:"]);
});

test("a very long line is not highlighted", () => {
  assert.equal(highlight("llvm", "load ".repeat(400)).length, 1);
});

test("the reasons of moves are not highlighted as code, and quotients of sizes not as comments", () => {
  assert.deepEqual(kinds("schedule", 'Y: unroll(n) because "a vector in 32 f32"'), [
    "keyword:unroll",
    'comment:"a vector in 32 f32"',
  ]);
  assert.deepEqual(kinds("loops", "for i in 0..N//64 {"), [
    "keyword:for",
    "keyword:in",
    "number:0",
    "number:64",
  ]);
});
