// Animates the transition from one pass to the next: removed nodes fade, new nodes grow in place. The
// pictures before and after are blended, so the cost is independent of the number of nodes, and
// pixels that both pictures share stay unchanged.
import { toScreen } from "./camera.js";

/**
 * @typedef {import("./camera.js").Camera} Camera
 * @typedef {import("./camera.js").Size} Size
 * @typedef {import("./scene.js").Scene} Scene
 *
 * @typedef {object} Blend a blend of two pictures, in device pixels
 * @property {OffscreenCanvas} old
 * @property {OffscreenCanvas} next
 * @property {OffscreenCanvas} rest the next picture without its growing nodes
 * @property {import("./camera.js").Box[]} grows
 * @property {number} started time of the start in milliseconds
 */

export const MOTION_MS = 220;
/** Minimum time between two transitions, in milliseconds; an earlier transition is not animated. */
const HURRY_MS = 400;
/** Maximum number of growing nodes; if there are more, new nodes only fade in. */
const MOST_GROWING = 200;
/** Overhang of the marks of a node, in drawing units, and its minimum in pixels. */
const MARGIN = 8;
const MARGIN_PX = 6;
const SMALLEST = 0.6;

/**
 * Return the visible boxes of nodes that are new in a scene.
 * @param {Scene} old
 * @param {Scene} next
 * @param {Camera} camera
 * @param {Size} size
 */
export function newBoxes(old, next, camera, size) {
  const boxes = [];
  for (const node of next.nodes) {
    if (!node.shown || old.byKey.get(node.key)?.shown) continue;
    const at = toScreen(camera, size, node);
    const margin = Math.max(MARGIN * camera.zoom, MARGIN_PX);
    const [w, h] = [node.w * camera.zoom + 2 * margin, node.h * camera.zoom + 2 * margin];
    const sees = (/** @type {number} */ x, /** @type {number} */ half, /** @type {number} */ length) =>
      x + half > 0 && x - half < length;
    if (sees(at.x, w / 2, size.width) && sees(at.y, h / 2, size.height))
      boxes.push({ x: at.x, y: at.y, w, h });
  }
  return boxes.length > MOST_GROWING ? [] : boxes;
}

/**
 * @param {(isMoving: boolean) => void} tell called when an animation starts and when it ends
 */
export function createMotion(tell) {
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  /** @type {{scene: Scene, camera: Camera, width: number, height: number} | null} */
  let last = null;
  /** @type {Blend | null} */
  let blend = null;
  let changedAt = -Infinity;

  function end() {
    if (blend) tell(false);
    blend = null;
  }

  /**
   * Paint a scene, or a frame of the animation toward the scene.
   * @param {CanvasRenderingContext2D} context
   * @param {Scene} scene
   * @param {Camera} camera
   * @param {Size} size
   * @param {boolean} isWhole whether one call of `draw` paints the whole scene
   * @param {() => void} draw
   * @returns {boolean} whether another frame is needed
   */
  function paint(context, scene, camera, size, isWhole, draw) {
    const { canvas } = context;
    const { width, height } = canvas;
    const now = performance.now();
    const stays =
      last !== null &&
      last.scene.places === scene.places &&
      sameLook(last.camera, camera) &&
      last.width === width &&
      last.height === height;
    const isNew = last?.scene !== scene;
    const was = last;
    last = { scene, camera, width, height };
    if (isNew || !stays) end();
    if (isNew) {
      const begins = was && stays && isWhole && !reduced.matches && now - changedAt > HURRY_MS;
      changedAt = now;
      if (begins) {
        const old = copyOf(canvas);
        draw();
        blend = begin(old, canvas, newBoxes(was.scene, scene, camera, size), now, context);
        tell(true);
      }
    }
    const share = blend ? (now - blend.started) / MOTION_MS : 1;
    if (blend && share < 1) {
      put(context, blend, eased(share));
      return true;
    }
    end();
    draw();
    return false;
  }
  return { paint, stop: end };
}

/** Ease out: fast at first, slow at the end. @param {number} share */
function eased(share) {
  return 1 - (1 - share) ** 3;
}

/**
 * @param {OffscreenCanvas} old
 * @param {HTMLCanvasElement} canvas canvas with the second picture
 * @param {import("./camera.js").Box[]} boxes in CSS pixels
 * @param {number} started
 * @param {CanvasRenderingContext2D} context
 * @returns {Blend}
 */
function begin(old, canvas, boxes, started, context) {
  const ratio = context.getTransform().a;
  const grows = boxes.map(({ x, y, w, h }) => ({ x: x * ratio, y: y * ratio, w: w * ratio, h: h * ratio }));
  const next = copyOf(canvas);
  // Without growing nodes both pictures are equal, and copying a picture takes milliseconds.
  const rest = grows.length ? copyOf(canvas) : next;
  const own = /** @type {any} */ (rest.getContext("2d"));
  for (const { x, y, w, h } of grows) own.clearRect(x - w / 2, y - h / 2, w, h);
  return { old, next, rest, grows, started };
}

/** @param {HTMLCanvasElement} canvas */
function copyOf(canvas) {
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  /** @type {any} */ (copy.getContext("2d")).drawImage(canvas, 0, 0);
  return copy;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Blend} blend
 * @param {number} share weight of the second picture
 */
function put(context, { old, next, rest, grows }, share) {
  const { width, height } = context.canvas;
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width, height);
  context.globalAlpha = 1 - share;
  context.drawImage(old, 0, 0);
  context.globalAlpha = share;
  // Additive blending: the shares sum to 1, so common pixels stay unchanged.
  context.globalCompositeOperation = "lighter";
  context.drawImage(rest, 0, 0);
  context.globalCompositeOperation = "source-over";
  const scale = SMALLEST + (1 - SMALLEST) * share;
  for (const { x, y, w, h } of grows) {
    const [dw, dh] = [w * scale, h * scale];
    context.drawImage(next, x - w / 2, y - h / 2, w, h, x - dw / 2, y - dh / 2, dw, dh);
  }
  context.restore();
}

/**
 * @param {Camera} a
 * @param {Camera} b
 */
function sameLook(a, b) {
  return a.x === b.x && a.y === b.y && a.zoom === b.zoom;
}
