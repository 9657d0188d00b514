// A picture of a large drawing from far away. While one pans and zooms, the picture is moved and
// stretched; it is made anew in steps, a few in a frame, when one stands still or has left it.
import { farSteps, inView } from "./draw.js";

/**
 * @typedef {import("./camera.js").Camera} Camera
 * @typedef {import("./camera.js").Size} Size
 * @typedef {import("./draw.js").Emphasis} Emphasis
 *
 * @typedef {object} Picture
 * @property {OffscreenCanvas} canvas
 * @property {Camera} camera
 * @property {Size} size in CSS pixels, larger than the view
 * @property {string} of what is on it
 * @property {Generator<void> | null} steps what is left to be painted
 */

/** How much larger than the view the picture is. */
const MARGIN = 1.3;
/** Stretched or shrunk by more than this, the picture misleads. */
const MOST_STRETCH = 1.7;
/** So many nodes and edges are painted at once without a picture. */
export const PAINTED_AT_ONCE = 3000;
/** A frame that took longer had too many steps in it, a shorter one has room for more. */
const [LONG_MS, SHORT_MS] = [24, 18];

export function createStill() {
  /** @type {Picture | null} */
  let front = null;
  /** @type {Picture | null} */
  let back = null;
  /** @type {Camera | null} */
  let last = null;
  let stepsPerFrame = 8;
  let lastTime = 0;

  /** @param {number} ratio @param {Camera} camera @param {Size} size @param {string} of @param {Paint} paint */
  function begin(ratio, camera, size, of, paint) {
    const large = { width: size.width * MARGIN, height: size.height * MARGIN };
    const canvas = new OffscreenCanvas(Math.ceil(large.width * ratio), Math.ceil(large.height * ratio));
    const context = /** @type {any} */ (canvas.getContext("2d"));
    context.scale(ratio, ratio);
    back = { canvas, camera, size: large, of, steps: paint(context, camera, large) };
  }

  /** Paints a few steps more; true when the picture is done. */
  function goOn() {
    const now = performance.now();
    const frame = now - lastTime;
    lastTime = now;
    if (frame > LONG_MS && frame < 500) stepsPerFrame = Math.max(2, stepsPerFrame * 0.7);
    else if (frame < SHORT_MS) stepsPerFrame = Math.min(64, stepsPerFrame * 1.2);
    for (let i = 0; back?.steps && i < stepsPerFrame; i++) if (back.steps.next().done) back.steps = null;
    if (!back || back.steps) return;
    front = back;
    back = null;
  }

  /**
   * Shows the scene as well as it is known now.
   * @param {CanvasRenderingContext2D} context
   * @param {number} ratio device pixels per CSS pixel
   * @param {Camera} camera
   * @param {Size} size
   * @param {string} of what else the picture depends on
   * @param {Paint} paint
   * @returns {boolean} whether it is as it should be; else it has to be asked again
   */
  function show(context, ratio, camera, size, of, paint) {
    const stands = last !== null && sameLook(last, camera);
    last = camera;
    const usable = front !== null && front.of === of;
    if (usable && front && sameLook(front.camera, camera) && front.size.width >= size.width) {
      put(context, front, camera, size);
      return true;
    }
    if (!usable || stands || !front || !covers(front, camera, size)) {
      if (!back || back.of !== of) begin(ratio, camera, size, of, paint);
      goOn();
    }
    const best = front?.of === of ? front : (back ?? front);
    if (best) put(context, best, camera, size);
    return false;
  }

  return { show };
}

/** @typedef {(context: CanvasRenderingContext2D, camera: Camera, size: Size) => Generator<void>} Paint */

/**
 * @param {Camera} a
 * @param {Camera} b
 */
function sameLook(a, b) {
  return a.x === b.x && a.y === b.y && a.zoom === b.zoom;
}

/**
 * Whether a picture has all that is in view, at about its size.
 * @param {Picture} picture
 * @param {Camera} camera
 * @param {Size} size
 */
function covers(picture, camera, size) {
  const stretch = camera.zoom / picture.camera.zoom;
  if (stretch > MOST_STRETCH || stretch < 1 / MOST_STRETCH) return false;
  const reach = (/** @type {"width" | "height"} */ side) =>
    picture.size[side] / 2 / picture.camera.zoom - size[side] / 2 / camera.zoom;
  return (
    Math.abs(camera.x - picture.camera.x) <= reach("width") &&
    Math.abs(camera.y - picture.camera.y) <= reach("height")
  );
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
