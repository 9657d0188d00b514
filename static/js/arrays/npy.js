// Writes arrays as .npy files, the format of numpy.save.
import { isNumeric } from "./types.js";

/** numpy's names of element types, and the writers of one element. @type {Record<string, [descr: string, bytes: number, put: (view: DataView, at: number, value: number | bigint) => void]>} */
const WRITERS = {
  f32: ["<f4", 4, (view, at, value) => view.setFloat32(at, Number(value), true)],
  f64: ["<f8", 8, (view, at, value) => view.setFloat64(at, Number(value), true)],
  i64: ["<i8", 8, (view, at, value) => view.setBigInt64(at, BigInt(value), true)],
  u64: ["<u8", 8, (view, at, value) => view.setBigUint64(at, BigInt(value), true)],
  bool: ["|b1", 1, (view, at, value) => view.setUint8(at, value ? 1 : 0)],
};
const ALIGN = 64;
const PREFIX_BYTES = 10;

/**
 * Return a .npy file. The server converts integers and floats to narrower types.
 * @param {string} element element type of the input
 * @param {number[]} shape
 * @param {ArrayLike<number | bigint>} values in row-major order
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function toNpy(element, shape, values) {
  const isInteger = /^[iu]/.test(element);
  const [descr, size, put] = WRITERS[element] ?? WRITERS[isInteger ? (element[0] === "u" ? "u64" : "i64") : "f32"];
  const dims = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${dims}), }`;
  const start = Math.ceil((PREFIX_BYTES + header.length + 1) / ALIGN) * ALIGN;
  const bytes = new Uint8Array(start + values.length * size);
  const view = new DataView(bytes.buffer);
  bytes.set([0x93, ...new TextEncoder().encode("NUMPY"), 1, 0]);
  view.setUint16(PREFIX_BYTES - 2, start - PREFIX_BYTES, true);
  bytes.set(new TextEncoder().encode(`${header.padEnd(start - PREFIX_BYTES - 1)}\n`), PREFIX_BYTES);
  for (let i = 0; i < values.length; i++) put(view, start + i * size, values[i]);
  return bytes;
}

/**
 * Parse typed numbers, separated by spaces, commas or lines; brackets are ignored.
 * @param {string} text
 * @param {string} element
 * @returns {{values: (number | bigint)[], bad: string}} `bad`: the first word that is no element, "" if there is none
 */
export function numbersOf(text, element) {
  const words = text.split(/[\s,;[\]()]+/).filter(Boolean);
  const values = [];
  for (const word of words) {
    const value = elementOf(word, element);
    if (value === null) return { values: [], bad: word };
    values.push(value);
  }
  return { values, bad: "" };
}

const TRUTHS = new Map([["true", 1], ["false", 0], ["1", 1], ["0", 0]]);
const ODD = new Map([["nan", NaN], ["inf", Infinity], ["-inf", -Infinity]]);

/** @param {string} word @param {string} element @returns {number | bigint | null} */
function elementOf(word, element) {
  const low = word.toLowerCase();
  if (element === "bool") return TRUTHS.get(low) ?? null;
  if (!isNumeric(element)) return null;
  if (/^[iu]/.test(element)) {
    if (!/^[-+]?\d{1,20}$/.test(word)) return null;
    const value = BigInt(word.replace(/^\+/, ""));
    const bits = Number(element.slice(1));
    const [least, most] = element[0] === "u" ? [0n, 2n ** BigInt(bits) - 1n] : [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n];
    return least <= value && value <= most ? value : null;
  }
  const odd = ODD.get(low);
  if (odd !== undefined) return odd;
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(word) ? Number(word) : null;
}
