// Tests of the addresses of a view block: the playground, and the view in the lesson.
import assert from "node:assert/strict";
import test from "node:test";
import { playgroundAddress, viewAddress } from "../../../static/js/course/view_link.js";
import { fromFragment } from "../../../static/js/state/url.js";
import { LINK_CHARACTERS } from "../../../static/js/text/writing.js";

const GRAPH = "graph g(x: f32[2,3]) {\n  y = exp(x)\n  return y\n}\n";
const WANTED = { graph: GRAPH, pipeline: "fuse", pane: "kernels", select: "y" };

test("the view has the state of the link to the playground", () => {
  const address = viewAddress(WANTED);
  assert.ok(address.startsWith("/embed#v=1&"));
  assert.equal(address.replace("/embed#", "/#"), playgroundAddress(WANTED));
  const place = fromFragment(address.split("#")[1]);
  assert.equal(place.model, "written");
  assert.equal(place.written, `ir:${GRAPH}`);
  assert.equal(place.pipeline, "fuse");
  assert.equal(place.pane, "kernels");
  assert.deepEqual(place.selection, ["y"]);
});

test("two panes of one graph differ only in the pane, so they share a compilation", () => {
  const [one, two] = ["kernels", "asm"].map((pane) =>
    fromFragment(viewAddress({ ...WANTED, pane }).split("#")[1]),
  );
  assert.deepEqual({ ...one, pane: "" }, { ...two, pane: "" });
});

test("a sample is named, and a step is the pass that is shown", () => {
  const place = fromFragment(viewAddress({ sample: "digits_mlp", stage: 4 }).split("#")[1]);
  assert.equal(place.model, "sample:digits_mlp");
  assert.equal(place.written, "");
  assert.equal(place.stage, 4);
  assert.doesNotMatch(viewAddress({ sample: "digits_mlp" }), /stage=/);
});

test("a text beyond the limit of addresses has no view", () => {
  assert.equal(viewAddress({ graph: "x".repeat(LINK_CHARACTERS + 1) }), "");
});
