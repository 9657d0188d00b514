// Types of inputs as text, "f32[1,3,224,224]", and the images and sounds that fit them.

/**
 * @typedef {{element: string, dims: (number | string)[]}} ArrayType
 * @typedef {{channels: number, height: number, width: number, layout: "NCHW" | "NHWC"}} ImageShape
 */

/**
 * Parse the type of a tensor; null for other types.
 * @param {string} text
 * @param {(number | string)[]} [known] dimensions of the compilation, without open sizes
 * @returns {ArrayType | null}
 */
export function arrayType(text, known) {
  const found = /^(\w+)\[([^\]]*)\]/.exec(text);
  if (!found) return null;
  const dims = known ?? found[2].split(",").filter(Boolean).map((d) => (/^\d+$/.test(d) ? Number(d) : d));
  return { element: found[1], dims };
}

/**
 * Return the number of elements; null while a size is open.
 * @param {ArrayType} type
 */
export function countOf({ dims }) {
  let n = 1;
  for (const d of dims) {
    if (typeof d !== "number") return null;
    n *= d;
  }
  return n;
}

const CHANNELS = [1, 3];
const LEAST_SIDE = 4;

/**
 * Return how an image fits a type: one image of one or three channels; null if none does.
 * @param {ArrayType} type
 * @returns {ImageShape | null}
 */
export function imageShape({ element, dims }) {
  if (!isNumeric(element) || dims.some((d) => typeof d !== "number")) return null;
  const [batch, ...rest] = /** @type {number[]} */ (dims.length === 4 ? dims : [1, ...dims]);
  if (batch !== 1 || rest.length !== 3) return null;
  for (const [layout, [channels, height, width]] of /** @type {const} */ ([
    ["NCHW", rest],
    ["NHWC", [rest[2], rest[0], rest[1]]],
  ]))
    if (CHANNELS.includes(channels) && Math.min(height, width) >= LEAST_SIDE)
      return { channels, height, width, layout };
  return null;
}

const LEAST_SAMPLES = 64;

/**
 * Return the number of samples of a sound that fits a type: one long axis; 0 if none does.
 * @param {ArrayType} type
 */
export function soundLength(type) {
  const n = countOf(type);
  const isOneAxis = type.dims.every((d) => d === 1 || d === n);
  return /^(f|bf)/.test(type.element) && n !== null && n >= LEAST_SAMPLES && isOneAxis ? n : 0;
}

/** @param {string} element */
export function isNumeric(element) {
  return /^([iuf]|bf)\d+/.test(element);
}
