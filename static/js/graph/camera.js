// The camera: the point of the drawing at the centre of the canvas, and pixels per drawing unit.

/**
 * @typedef {import("../state/url.js").Camera} Camera
 * @typedef {{width: number, height: number}} Size in CSS pixels
 * @typedef {{x: number, y: number, w: number, h: number}} Box centre and size in drawing units
 */

export const ZOOM_MIN = 0.01;
export const ZOOM_MAX = 4;
const MARGIN_PX = 28;

/**
 * @param {number} zoom
 */
function clampZoom(zoom) {
  return Math.min(ZOOM_MAX, Math.max(ZOOM_MIN, zoom));
}

/**
 * Return the camera that shows a whole box, at most at its natural size.
 * @param {Box} box
 * @param {Size} size
 * @returns {Camera}
 */
export function fit(box, size) {
  const zoom = Math.min(
    Math.max(1, size.width - 2 * MARGIN_PX) / Math.max(1, box.w),
    Math.max(1, size.height - 2 * MARGIN_PX) / Math.max(1, box.h),
    1,
  );
  return { x: box.x, y: box.y, zoom: clampZoom(zoom) };
}

/**
 * Return the camera after zooming by a factor around a fixed screen point.
 * @param {Camera} camera
 * @param {Size} size
 * @param {{x: number, y: number}} screen
 * @param {number} factor
 * @returns {Camera}
 */
export function zoomAt(camera, size, screen, factor) {
  const held = toDrawing(camera, size, screen);
  const zoom = clampZoom(camera.zoom * factor);
  return {
    x: held.x - (screen.x - size.width / 2) / zoom,
    y: held.y - (screen.y - size.height / 2) / zoom,
    zoom,
  };
}

/**
 * @param {Camera} camera
 * @param {Size} size
 * @param {{x: number, y: number}} screen
 */
export function toDrawing(camera, size, screen) {
  return {
    x: camera.x + (screen.x - size.width / 2) / camera.zoom,
    y: camera.y + (screen.y - size.height / 2) / camera.zoom,
  };
}

/**
 * @param {Camera} camera
 * @param {Size} size
 * @param {{x: number, y: number}} point
 */
export function toScreen(camera, size, point) {
  return {
    x: (point.x - camera.x) * camera.zoom + size.width / 2,
    y: (point.y - camera.y) * camera.zoom + size.height / 2,
  };
}

/**
 * Move the camera by the minimum that brings a box into view.
 * @param {Camera} camera
 * @param {Size} size
 * @param {Box} box
 * @returns {Camera}
 */
export function reveal(camera, size, box) {
  const nudge = (
    /** @type {number} */ at,
    /** @type {number} */ half,
    /** @type {number} */ length,
  ) => {
    const reach = Math.max(0, length / 2 - MARGIN_PX) / camera.zoom - half;
    if (reach <= 0) return at;
    return Math.min(Math.max(at, -reach), reach);
  };
  const dx = box.x - camera.x;
  const dy = box.y - camera.y;
  return {
    x: box.x - nudge(dx, box.w / 2, size.width),
    y: box.y - nudge(dy, box.h / 2, size.height),
    zoom: camera.zoom,
  };
}
