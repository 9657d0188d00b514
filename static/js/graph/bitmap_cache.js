// Pictures of a large drawing from far away. While one pans and zooms, a picture is moved and
// stretched and nothing is painted; once one stands still, a sharp one is made in steps, a few in a
// frame. Who leaves what a picture shows gets one of the whole drawing, which nobody can leave.
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
 * @property {string} of what is on it
 * @property {Generator<void> | null} steps what is left to be painted
 *
 * @typedef {(context: CanvasRenderingContext2D, camera: Camera, size: Size) => Generator<void>} Paint
 *
 * @typedef {object} Subject what is to be seen
 * @property {string} of another text means another picture
 * @property {Size} whole size in drawing units, from 0, 0
 * @property {Paint} paint
 */

/** How much larger than the view a sharp picture is. */
const MARGIN = 1.3;
/** A picture of the whole has at most so many device pixels, and so many along a side. */
const [WHOLE_PIXELS, WHOLE_SIDE] = [3e6, 4096];
/** So many nodes and edges are painted at once without a picture. */
export const PAINTED_AT_ONCE = 3000;
/** A frame that took longer had too many steps in it, a shorter one has room for more. */
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

  /** Paints a few steps more of the picture that is being made; true when it is done. */
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
   * Shows the subject as well as there is a picture of it.
   * @param {CanvasRenderingContext2D} context
   * @param {number} ratio device pixels per CSS pixel
   * @param {Camera} camera
   * @param {Size} size
   * @param {Subject} subject
   * @returns {boolean} whether it is as it should be; else it has to be asked again
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
    // With nothing better, what is there so far; of another pass still rather than nothing.
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
 * Whether a picture has all of the drawing that is in view.
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
 * @param {import("../theme.js").Colors} colors
 * @param {Emphasis} emphasis
 * @returns {Paint} the steps that paint a scene in which nothing stands out
 */
export function farPaint(scene, colors, emphasis) {
  return (context, camera, size) =>
    farSteps(context, inView(scene, camera, size), camera, size, colors, emphasis);
}
