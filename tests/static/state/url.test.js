import assert from "node:assert/strict";
import test from "node:test";
import { START, VERSION, fromFragment, secondOf, toFragment, upgrade } from "../../../static/js/state/url.js";

/** @type {import("../../../static/js/state/url.js").Place} */
const FULL = {
  screen: "walk",
  model: "upload:9f86d0",
  written: "py:def m(x: f32[2]):\n    return x & 1 # +é\n",
  shapes: { "x=y": "1,3,224,224", "ids&more": "2" },
  pipeline: "simplify{until=fixpoint},-fold_constants{max_growth=1.1},fuse",
  precision: "bf16",
  threads: 2,
  job: "20261121-6f1c",
  stage: 7,
  view: "before",
  color: "bytes",
  selection: ["conv 1/a", "relu,1", "→ü&#="],
  at: "h,2",
  edge: "conv 1/a.out\th,2 é",
  pane: "asm",
  kernel: 3,
  line: "3:12",
  step: "7:4",
  other: "20261121-aa",
  pair: "3:5",
  code: "llvm",
  check: "20261121-cc",
  base: 0,
  open: ["g3", "g7"],
  platform: "two-sockets",
  scheduler: "ready_bytes",
  tuning: "20260101-0123456789abcdef0123",
  bisect: "20260101-0123456789abcdef0124",
  tune: "45:genetic:3",
  targets: "x86-64-v3,wasm32-simd128",
  level: "llvm",
  pins: [7, -1],
  edited: "3:Y: split(n, 16, no, nl) because \"a & b # é\"\n// next: 4:5\n",
  ahead: 0,
  span: [0.25, 0.3125],
  measured: "20261121-bb",
  ran: "20261126-cc",
  flame: "operator",
  within: "\tolayer 1\tn/a,b",
  camera: { x: 12.5, y: -3, zoom: 0.25 },
  without: ["fuse_sum,é", "drop_identity"],
  tuned: "20260101-0123456789abcdef0125",
  on: ["unchanged-passes", "order-table"],
  unfolded: ["move:3", "verdict:a b:c:é"],
  sort: ["kernels:time:down", "targets:class.fma:up"],
  filter: "fu se&",
  order: "bytes",
  find: "conv #1",
  over: "map",
  outcome: "declined",
  rule: "fold_constants",
  diff: "split",
  sides: "unified",
  kernels: "fallback",
  seconds: "0.5",
  candidates: 2,
  moved: "half",
  off: ["a_rule", "b_rule"],
  planned: "simplify,-fuse{x=1}",
  tour: 3,
};

test("every field of the state survives the URL", () => {
  assert.deepEqual(fromFragment(toFragment(FULL)), FULL);
  assert.deepEqual(fromFragment(`#${toFragment(FULL)}`), FULL);
});

test("every field of the state is tested with a value other than its default", () => {
  const keys = /** @type {(keyof typeof START)[]} */ (Object.keys(START));
  assert.deepEqual(Object.keys(FULL).sort(), [...keys].sort());
  assert.deepEqual(Object.keys(fromFragment("")).sort(), [...keys].sort());
  for (const key of keys) {
    assert.notDeepEqual(FULL[key], START[key], `${key} is at its default: nothing is tried`);
    const alone = { ...START, [key]: FULL[key] };
    assert.deepEqual(fromFragment(toFragment(alone)), alone, key);
  }
});

test("the URL of the initial state contains only the version", () => {
  assert.equal(toFragment(START), `v=${VERSION}`);
  assert.deepEqual(fromFragment(""), START);
});

test("a fragment contains only characters that a link allows", () => {
  assert.match(toFragment(FULL), /^[\w\-.~!$&'()*+,;=:@/?%]*$/);
});

test("an invalid value falls back to its default without effect on other values", () => {
  const place = fromFragment(
    "v=1&view=sideways&stage=two&camera=1,2&kernel=9e9&shape=nothing&screen=walk&at=h",
  );
  assert.deepEqual(place, { ...START, screen: "walk", at: "h" });
});

test("a selected line applies only to its kernel", () => {
  assert.equal(secondOf("3:12", 3), 12);
  assert.equal(secondOf("3:12", 4), -1);
  assert.equal(secondOf("", 0), -1);
  for (const bad of ["3", "3:", "a:1", "3:-1"]) assert.equal(fromFragment(`line=${bad}`).line, "");
});

test("a pair may omit one of its two kernels, but not both", () => {
  for (const good of ["3:5", "3:", ":5"]) assert.equal(fromFragment(`pair=${good}`).pair, good);
  for (const bad of [":", "3", "a:1", "3:5:7", "-1:2"])
    assert.equal(fromFragment(`pair=${bad}`).pair, "", bad);
  assert.equal(fromFragment("code=binary").code, START.code);
});

test("a camera requires three numbers and a positive zoom", () => {
  for (const bad of ["", "1,2,0", "1,2,-1", "1,NaN,1", "1,2,3,4", "a,b,c"])
    assert.equal(fromFragment(`camera=${bad}`).camera, null, bad);
  assert.deepEqual(fromFragment("camera=1,2,3").camera, { x: 1, y: 2, zoom: 3 });
});

test("a time range requires two increasing fractions of the run", () => {
  for (const bad of ["", "1", "0.5,0.5", "0.6,0.2", "-1,0.5", "0,1.5", "0,0.5,1", "a,b"])
    assert.deepEqual(fromFragment(`span=${bad}`).span, [0, 1], bad);
  assert.deepEqual(fromFragment("span=0,0.5").span, [0, 0.5]);
  assert.equal(fromFragment("ahead=-7").ahead, -1);
});

test("unknown keys of a newer version are ignored", () => {
  assert.deepEqual(fromFragment("v=99&future=1&stage=4"), { ...START, stage: 4 });
});

test("a fragment without a version has the first version", () => {
  assert.equal(upgrade(new URLSearchParams("stage=4")).get("v"), String(VERSION));
});

test("an origin selected twice is selected once", () => {
  assert.deepEqual(fromFragment("select=a&select=a&select=b").selection, ["a", "b"]);
});
