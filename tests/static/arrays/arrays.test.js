import assert from "node:assert/strict";
import test from "node:test";
import { numbersOf, toNpy } from "../../../static/js/arrays/npy.js";
import { averaged, elementsOf, inkBounds, middleOf } from "../../../static/js/arrays/pixels.js";
import { arrayType, countOf, imageShape, soundLength } from "../../../static/js/arrays/types.js";
import { ofLength, readWav } from "../../../static/js/arrays/wav.js";

/** @param {string} text */
const type = (text) => /** @type {import("../../../static/js/arrays/types.js").ArrayType} */ (arrayType(text));

test("the type of an input says which images and sounds fit", () => {
  assert.deepEqual(type("f32[1,3,224,200]"), { element: "f32", dims: [1, 3, 224, 200] });
  assert.deepEqual(type("i64[N,4]").dims, ["N", 4]);
  assert.equal(arrayType("sequence(f32[2])"), null);
  assert.equal(countOf(type("f32[]")), 1);
  assert.equal(countOf(type("f32[N]")), null);
  assert.deepEqual(imageShape(type("f32[1,3,224,200]")), { channels: 3, height: 224, width: 200, layout: "NCHW" });
  assert.deepEqual(imageShape(type("u8[1,20,30,3]")), { channels: 3, height: 20, width: 30, layout: "NHWC" });
  assert.deepEqual(imageShape(type("f32[1,8,8]")), { channels: 1, height: 8, width: 8, layout: "NCHW" });
  for (const other of ["f32[2,3,8,8]", "f32[1,64,8,8]", "f32[1,10]", "bool[1,3,8,8]", "f32[N,3,8,8]"])
    assert.equal(imageShape(type(other)), null, other);
  assert.equal(soundLength(type("f32[1,512]")), 512);
  for (const other of ["i64[1,512]", "f32[2,512]", "f32[1,8]", "f32[1,N]"]) assert.equal(soundLength(type(other)), 0, other);
});

test("a .npy file has an aligned header and elements in row-major order", () => {
  const file = toNpy("f32", [2, 1], [1.5, -2]);
  const view = new DataView(file.buffer);
  assert.equal(new TextDecoder("latin1").decode(file.subarray(1, 6)), "NUMPY");
  const start = 10 + view.getUint16(8, true);
  assert.equal(start % 64, 0);
  assert.match(new TextDecoder().decode(file.subarray(10, start)), /^\{'descr': '<f4', 'fortran_order': False, 'shape': \(2, 1\), \} *\n$/);
  assert.deepEqual([view.getFloat32(start, true), view.getFloat32(start + 4, true)], [1.5, -2]);
  assert.equal(file.length, start + 8);
  const whole = toNpy("i8", [3], [1n, -1n, 7n]);
  assert.match(new TextDecoder("latin1").decode(whole), /'<i8', .*\(3,\)/);
  assert.match(new TextDecoder("latin1").decode(toNpy("bf16", [], [1])), /'<f4', .*'shape': \(\)/);
});

test("typed numbers are elements of the type, or the first other word is named", () => {
  assert.deepEqual(numbersOf("[1, 2.5e1\n -.5]", "f32"), { values: [1, 25, -0.5], bad: "" });
  assert.deepEqual(numbersOf("nan inf -inf", "f16").values, [NaN, Infinity, -Infinity]);
  assert.deepEqual(numbersOf("9223372036854775807 -1", "i64").values, [9223372036854775807n, -1n]);
  assert.deepEqual(numbersOf("true 0 False", "bool").values, [1, 0, 0]);
  for (const [text, element] of [["1.5", "i32"], ["256", "u8"], ["-1", "u8"], ["2", "bool"], ["0x10", "f32"], ["__proto__", "bool"], ["a", "string"]])
    assert.equal(numbersOf(`${text} 1`, element).bad, text);
});

test("pixels are in the layout and the range of the input", () => {
  const rgba = Uint8ClampedArray.of(255, 0, 51, 255, 0, 255, 102, 255);
  const shape = { channels: 3, height: 1, width: 2 };
  const near = (/** @type {Float32Array} */ found, /** @type {number[]} */ expected) =>
    found.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 1e-4, `${[...found]}`));
  near(elementsOf(rgba, { ...shape, layout: "NCHW" }, "unit"), [1, 0, 0, 1, 0.2, 0.4]);
  near(elementsOf(rgba, { ...shape, layout: "NHWC" }, "bytes"), [255, 0, 51, 0, 255, 102]);
  near(elementsOf(rgba, { ...shape, layout: "NHWC" }, "signed"), [1, -1, -0.6, -1, 1, -0.2]);
  near(elementsOf(rgba, { ...shape, layout: "NCHW" }, "imagenet").subarray(0, 1), [(1 - 0.485) / 0.229]);
  near(elementsOf(rgba, { ...shape, channels: 1, layout: "NCHW" }, "sixteen"), [16 * (0.299 + 0.2 * 0.114), 16 * (0.587 + 0.4 * 0.114)]);
});

test("a picture is cut in the middle, and a drawing is cropped, centred and averaged", () => {
  assert.deepEqual(middleOf({ width: 400, height: 200 }, { width: 10, height: 10 }), [100, 0, 200, 200]);
  const drawing = new Uint8ClampedArray(100 * 4);
  const ink = (/** @type {number} */ x, /** @type {number} */ y) => drawing.fill(255, 4 * (y * 10 + x), 4 * (y * 10 + x) + 4);
  assert.equal(inkBounds(drawing, 10), null);
  for (let y = 6; y < 10; y++) ink(8, y);
  const bounds = inkBounds(drawing, 10);
  assert.deepEqual(bounds, [8, 6, 9, 10]);
  const small = averaged(drawing, 10, /** @type {any} */ (bounds), { width: 4, height: 4 });
  const greys = [...small].filter((_, i) => i % 4 === 0);
  const columns = [0, 1, 2, 3].map((x) => greys.filter((_, i) => i % 4 === x).reduce((a, b) => a + b));
  assert.equal(columns[0] + columns[3], 0);
  assert.ok(columns[1] + columns[2] > 0);
  assert.deepEqual(greys.slice(0, 4), greys.slice(12));
});

/** @param {number} kind @param {number} bits @param {number} channels @param {number[]} data bytes */
function wav(kind, bits, channels, data) {
  const bytes = new Uint8Array(44 + data.length);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode("RIFF"), 0);
  bytes.set(new TextEncoder().encode("WAVEfmt "), 8);
  view.setUint32(16, 16, true);
  view.setUint16(20, kind, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, 16000, true);
  view.setUint16(34, bits, true);
  bytes.set(new TextEncoder().encode("data"), 36);
  view.setUint32(40, data.length, true);
  bytes.set(data, 44);
  return bytes.buffer;
}

test("the samples of a sound are the mean of its channels, between -1 and 1", () => {
  const read = readWav(wav(1, 16, 2, [0, 0x40, 0, 0xc0, 0, 0x80, 0, 0x80]));
  assert.deepEqual([[...(read?.samples ?? [])], read?.rate, read?.channels], [[0, -1], 16000, 2]);
  assert.deepEqual([...(readWav(wav(1, 8, 1, [128, 192]))?.samples ?? [])], [0, 0.5]);
  assert.deepEqual([...(readWav(wav(1, 24, 1, [0, 0, 0x40]))?.samples ?? [])], [0.5]);
  assert.deepEqual([...(readWav(wav(3, 32, 1, [0, 0, 0, 0x3f]))?.samples ?? [])], [0.5]);
  for (const other of [new ArrayBuffer(0), new ArrayBuffer(64), wav(1, 12, 1, [1, 2]), wav(1, 16, 0, [1, 2]), wav(2, 4, 1, [1])])
    assert.equal(readWav(other), null);
  assert.deepEqual([...ofLength(Float32Array.of(1, 2, 3), 2)], [1, 2]);
  assert.deepEqual([...ofLength(Float32Array.of(1), 3)], [1, 0, 0]);
});
