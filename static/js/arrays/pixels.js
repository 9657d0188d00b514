// Converts pixels to the elements of an input: layout, channels, and the range of values.

/** @typedef {import("./types.js").ImageShape} ImageShape */

/** Mean and standard deviation of ImageNet's channels, for values from 0 to 1. */
const MEAN = [0.485, 0.456, 0.406];
const DEVIATION = [0.229, 0.224, 0.225];
/** Weights of red, green and blue in the luminance (ITU-R BT.601). */
const LUMINANCE = [0.299, 0.587, 0.114];

/** Ranges of pixel values by name; a channel's value is between 0 and 1. @type {Record<string, (value: number, channel: number) => number>} */
export const RANGES = {
  unit: (value) => value,
  bytes: (value) => value * 255,
  signed: (value) => value * 2 - 1,
  imagenet: (value, channel) => (value - MEAN[channel]) / DEVIATION[channel],
  sixteen: (value) => value * 16,
};

/**
 * Return the elements of an image in the layout of an input.
 * @param {Uint8ClampedArray} rgba pixels in rows, of the shape's height and width
 * @param {ImageShape} shape
 * @param {string} range key of `RANGES`
 * @returns {Float32Array}
 */
export function elementsOf(rgba, { channels, height, width, layout }, range) {
  const scale = RANGES[range];
  const n = height * width;
  const made = new Float32Array(n * channels);
  for (let i = 0; i < n; i++) {
    const colors = [rgba[4 * i] / 255, rgba[4 * i + 1] / 255, rgba[4 * i + 2] / 255];
    const grey = LUMINANCE.reduce((sum, weight, c) => sum + weight * colors[c], 0);
    for (let c = 0; c < channels; c++) {
      const value = scale(channels === 1 ? grey : colors[c], c);
      made[layout === "NCHW" ? c * n + i : i * channels + c] = value;
    }
  }
  return made;
}

/**
 * Return the part of a picture that is scaled to the shape: as large as possible, in the middle.
 * @param {{width: number, height: number}} picture
 * @param {{width: number, height: number}} shape
 * @returns {[x: number, y: number, width: number, height: number]}
 */
export function middleOf(picture, shape) {
  const scale = Math.min(picture.width / shape.width, picture.height / shape.height);
  const [width, height] = [shape.width * scale, shape.height * scale];
  return [(picture.width - width) / 2, (picture.height - height) / 2, width, height];
}

/**
 * Return the bounds of the ink of a drawing; null without ink.
 * @param {Uint8ClampedArray} rgba
 * @param {number} width
 * @returns {[left: number, top: number, right: number, bottom: number] | null} half-open
 */
export function inkBounds(rgba, width) {
  let [left, top, right, bottom] = [Infinity, Infinity, -1, -1];
  for (let i = 0; i < rgba.length / 4; i++) {
    if (rgba[4 * i] < 64) continue;
    const [x, y] = [i % width, Math.floor(i / width)];
    [left, right] = [Math.min(left, x), Math.max(right, x + 1)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y + 1)];
  }
  return right < 0 ? null : [left, top, right, bottom];
}

/**
 * Return the means of the pixels in the cells of a grid, for the part of a drawing within bounds; the longer
 * side fills the grid, and the shorter side is in the middle.
 * @param {Uint8ClampedArray} rgba
 * @param {number} width
 * @param {[number, number, number, number]} bounds
 * @param {{width: number, height: number}} grid
 * @returns {Uint8ClampedArray} grey pixels as RGBA
 */
export function averaged(rgba, width, [left, top, right, bottom], grid) {
  const cell = Math.max((right - left) / grid.width, (bottom - top) / grid.height, 1);
  const [x0, y0] = [(left + right - cell * grid.width) / 2, (top + bottom - cell * grid.height) / 2];
  const height = rgba.length / 4 / width;
  const made = new Uint8ClampedArray(grid.width * grid.height * 4).fill(255);
  for (let row = 0; row < grid.height; row++)
    for (let column = 0; column < grid.width; column++) {
      let [sum, n] = [0, 0];
      for (let y = Math.floor(y0 + row * cell); y < y0 + (row + 1) * cell; y++)
        for (let x = Math.floor(x0 + column * cell); x < x0 + (column + 1) * cell; x++) {
          n += 1;
          if (x >= 0 && y >= 0 && x < width && y < height) sum += rgba[4 * (y * width + x)];
        }
      made.fill(sum / n, 4 * (row * grid.width + column), 4 * (row * grid.width + column) + 3);
    }
  return made;
}
