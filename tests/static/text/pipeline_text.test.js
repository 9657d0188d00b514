import assert from "node:assert/strict";
import test from "node:test";
import {
  PipelineTextError,
  enabledPipeline,
  moveRow,
  parsePipeline,
  passNumbers,
  printPipeline,
} from "../../../static/js/text/pipeline_text.js";

test("the text form round-trips, including disabled passes", () => {
  for (const text of [
    "",
    "fuse",
    "-fuse",
    "simplify{until=fixpoint,at_most=20},-fold_constants{max_growth=1.1},fuse",
    "until_stable{at_most=3}(simplify{until=once},common_subexpression_elimination),-until_stable(a,b),fuse",
  ]) {
    assert.equal(printPipeline(parsePipeline(text)), text);
  }
});

test("spaces, line ends and empty items are ignored", () => {
  assert.equal(
    printPipeline(parsePipeline(" simplify { until = fixpoint } ,\n\n fuse ,")),
    "simplify{until=fixpoint},fuse",
  );
});

test("the compiler receives only the enabled passes", () => {
  assert.equal(enabledPipeline(parsePipeline("a,-b{x=1},c{y=2}")), "a,c{y=2}");
  assert.equal(enabledPipeline(parsePipeline("-a")), "");
});

test("an invalid pass is named in the error", () => {
  for (const [text, piece] of [
    ["a,1b,c", "1b"],
    ["a b", "a b"],
    ["a{x}", "a{x}"],
    ["a{x=1", "a{x=1"],
    ["a}b", "a}b"],
  ]) {
    assert.throws(
      () => parsePipeline(text),
      (problem) => problem instanceof PipelineTextError && problem.piece === piece,
      text,
    );
  }
});

test("only passes that run have a number, and none follows a group, which repeats its passes", () => {
  assert.deepEqual(passNumbers(parsePipeline("a,-b,c")), [1, null, 2]);
  assert.deepEqual(passNumbers(parsePipeline("a,until_stable(b,c),d")), [1, null, null]);
  assert.deepEqual(passNumbers(parsePipeline("a,-until_stable(b,c),d")), [1, null, 2]);
});

test("a pass moves to its new position, and the other passes keep their order", () => {
  const rows = parsePipeline("a,b,c,d");
  assert.equal(printPipeline(moveRow(rows, 0, 2)), "b,c,a,d");
  assert.equal(printPipeline(moveRow(rows, 3, 1)), "a,d,b,c");
  assert.equal(moveRow(rows, 0, -1), rows);
  assert.equal(moveRow(rows, 3, 4), rows);
  assert.equal(printPipeline(rows), "a,b,c,d");
});
