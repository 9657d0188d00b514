// Bitmaps of a large drawing at a small zoom. Panning and zooming move and scale a bitmap and paint
// nothing. At rest, a sharp bitmap is painted in steps, a few per frame. Outside the area of the sharp
// bitmap, a bitmap of the whole drawing is shown.
import { farSteps } from "./draw.js";
import { inView } from "./hit.js";

/**
 * @typedef {import("./camera.js").Camera} Camera
 * @typedef {import("./camera.js").Size} Size
 * @typedef {import("./draw.js").Emphasis} Emphasis
 *
 * @typedef {object} Picture
 * @property {OffscreenCanvas} canvas
 * @property {Camera} camera
 * @property {Size} size in CSS pixels
 * @property {string} of key of the painted content
 * @property {Generator<void> | null} steps remaining paint steps
 *
 * @typedef {(context: CanvasRenderingContext2D, camera: Camera, size: Size) => Generator<void>} Paint
 *
 * @typedef {object} Subject content to show
 * @property {string} of key of the content; another key needs another picture
 * @property {Size} whole size in drawing units, from 0, 0
 * @property {Paint} paint
 */

/** Size of a sharp picture relative to the view. */
const MARGIN = 1.3;
/** Limits of a picture of the whole drawing: device pixels in total, and along a side. */
const [WHOLE_PIXELS, WHOLE_SIDE] = [3e6, 4096];
/** Maximum number of nodes and edges that are painted directly, without a picture. */
export const PAINTED_AT_ONCE = 3000;
/** After frames longer than LONG_MS, fewer steps run per frame; after frames shorter than SHORT_MS, more. */
const [LONG_MS, SHORT_MS] = [24, 18];

export function createBitmapCache() {
  /** @type {Picture | null} */
  let sharp = null;
  /** @type {Picture | null} */
  let whole = null;
  /** @type {Picture | null} */
  let made = null;
  /** @type {Camera | null} */
  let last = null;
  let stepsPerFrame = 8;
  let lastTime = 0;

  /** Paint a few more steps of the pending picture; true when it is complete. */
  function goOn() {
    const now = performance.now();
    const frame = now - lastTime;
    lastTime = now;
    if (frame > LONG_MS && frame < 500) stepsPerFrame = Math.max(2, stepsPerFrame * 0.7);
    else if (frame < SHORT_MS) stepsPerFrame = Math.min(64, stepsPerFrame * 1.2);
    for (let i = 0; made?.steps && i < stepsPerFrame; i++) if (made.steps.next().done) made.steps = null;
    return made?.steps === null;
  }

  /**
   * Show the subject with the best picture available.
   * @param {CanvasRenderingContext2D} context
   * @param {number} ratio device pixels per CSS pixel
   * @param {Camera} camera
   * @param {Size} size
   * @param {Subject} subject
   * @returns {boolean} whether the picture is final; otherwise call again
   */
  function show(context, ratio, camera, size, subject) {
    const { of } = subject;
    const stands = last !== null && sameLook(last, camera);
    last = camera;
    if (sharp?.of === of && sameLook(sharp.camera, camera) && sharp.size.width >= size.width) {
      put(context, sharp, camera, size);
      return true;
    }
    let best = [sharp, whole].find((each) => each?.of === of && covers(each, camera, size, subject.whole));
    if (stands || !best) {
      const isMeant = made?.of === of && (sameLook(made.camera, camera) || contains(made, subject.whole));
      if (!made || !isMeant)
        made = stands ? begin(ratio, camera, enlarged(size), subject) : beginWhole(ratio, subject);
      if (goOn()) {
        if (contains(made, subject.whole)) whole = made;
        if (stands && sameLook(made.camera, camera)) sharp = made;
        best ??= made;
        made = null;
      }
    }
    // Without a better picture, show the unfinished picture; even a picture of another pass is better than none.
    best ??= [sharp, whole].find((each) => each?.of === of) ?? made ?? sharp;
    if (best) put(context, best, camera, size);
    return false;
  }

  return { show };
}

/**
 * @param {number} ratio
 * @param {Camera} camera
 * @param {Size} size
 * @param {Subject} subject
 * @returns {Picture}
 */
function begin(ratio, camera, size, { of, paint }) {
  const canvas = new OffscreenCanvas(Math.ceil(size.width * ratio), Math.ceil(size.height * ratio));
  const context = /** @type {any} */ (canvas.getContext("2d"));
  context.scale(ratio, ratio);
  return { canvas, camera, size, of, steps: paint(context, camera, size) };
}

/** @param {number} ratio @param {Subject} subject */
function beginWhole(ratio, subject) {
  const { width, height } = subject.whole;
  const zoom =
    Math.min(Math.sqrt(WHOLE_PIXELS / (width * height)), WHOLE_SIDE / width, WHOLE_SIDE / height) / ratio;
  const camera = { x: width / 2, y: height / 2, zoom };
  return begin(ratio, camera, { width: width * zoom, height: height * zoom }, subject);
}

/** @param {Size} size */
function enlarged({ width, height }) {
  return { width: width * MARGIN, height: height * MARGIN };
}

/**
 * @param {Camera} a
 * @param {Camera} b
 */
function sameLook(a, b) {
  return a.x === b.x && a.y === b.y && a.zoom === b.zoom;
}

/**
 * Return whether a picture covers the visible part of the drawing.
 * @param {Picture} picture
 * @param {Camera} camera
 * @param {Size} size
 * @param {Size} whole
 */
function covers(picture, camera, size, whole) {
  return /** @type {const} */ (["x", "y"]).every((axis) => {
    const side = axis === "x" ? "width" : "height";
    const reach = size[side] / 2 / camera.zoom;
    const from = Math.max(0, camera[axis] - reach);
    const to = Math.min(whole[side], camera[axis] + reach);
    const has = picture.size[side] / 2 / picture.camera.zoom + 1e-6 * whole[side];
    return from >= to || (from >= picture.camera[axis] - has && to <= picture.camera[axis] + has);
  });
}

/**
 * @param {Picture} picture
 * @param {Size} whole
 */
function contains(picture, whole) {
  return covers(picture, { x: whole.width / 2, y: whole.height / 2, zoom: 1 }, whole, whole);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Picture} picture
 * @param {Camera} camera
 * @param {Size} size
 */
function put(context, picture, camera, size) {
  const stretch = camera.zoom / picture.camera.zoom;
  const w = picture.size.width * stretch;
  const h = picture.size.height * stretch;
  const x = (picture.camera.x - camera.x) * camera.zoom + size.width / 2 - w / 2;
  const y = (picture.camera.y - camera.y) * camera.zoom + size.height / 2 - h / 2;
  context.imageSmoothingQuality = "low";
  context.drawImage(picture.canvas, x, y, w, h);
}

/**
 * @param {import("./scene.js").Scene} scene
 * @param {import("../elements/theme.js").Colors} colors
 * @param {Emphasis} emphasis
 * @returns {Paint} the steps that paint a scene without highlights
 */
export function farPaint(scene, colors, emphasis) {
  return (context, camera, size) =>
    farSteps(context, inView(scene, camera, size), camera, size, colors, emphasis);
}
