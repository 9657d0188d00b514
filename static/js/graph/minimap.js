// The minimap: the whole drawing in a corner, with a frame around the view and marks for changes.

/**
 * @typedef {import("./camera.js").Camera} Camera
 * @typedef {import("./camera.js").Size} Size
 * @typedef {import("./scene.js").Scene} Scene
 */

const PAD = 5;

/** Maximum factor by which the map stretches the short side of a long and narrow drawing. */
const STRETCH = 5;

/**
 * @param {Scene} scene
 * @param {Size} size
 * @returns {{sx: number, sy: number, dx: number, dy: number}} map = drawing * s + d
 */
function placement(scene, size) {
  const [fitX, fitY] = [
    (size.width - 2 * PAD) / Math.max(1, scene.width),
    (size.height - 2 * PAD) / Math.max(1, scene.height),
  ];
  const scale = Math.min(fitX, fitY);
  const [sx, sy] = [Math.min(fitX, scale * STRETCH), Math.min(fitY, scale * STRETCH)];
  return {
    sx,
    sy,
    dx: (size.width - scene.width * sx) / 2,
    dy: (size.height - scene.height * sy) / 2,
  };
}

/**
 * Create a map that caches a picture of the nodes; panning repaints only the frame of the view.
 */
export function createMap() {
  const picture = new OffscreenCanvas(1, 1);
  /** @type {unknown[]} */
  let shows = [];
  return {
    /**
     * @param {CanvasRenderingContext2D} context
     * @param {Scene} scene
     * @param {Size} size
     * @param {Camera} camera
     * @param {Size} viewSize
     * @param {import("../elements/theme.js").Colors} colors
     * @param {Set<string>} selected
     */
    draw(context, scene, size, camera, viewSize, colors, selected) {
      const ratio = context.getTransform().a;
      const wanted = [scene, colors, [...selected].join(" "), size.width, size.height, ratio];
      if (wanted.some((each, i) => each !== shows[i])) {
        shows = wanted;
        [picture.width, picture.height] = [size.width * ratio, size.height * ratio];
        const own = /** @type {any} */ (picture.getContext("2d"));
        own.scale(ratio, ratio);
        drawNodes(own, scene, size, colors, selected);
      }
      context.clearRect(0, 0, size.width, size.height);
      context.drawImage(picture, 0, 0, size.width, size.height);
      drawView(context, scene, size, camera, viewSize, colors);
    },
  };
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {Size} size
 * @param {import("../elements/theme.js").Colors} colors
 * @param {Set<string>} selected
 */
function drawNodes(context, scene, size, colors, selected) {
  const { sx, sy, dx, dy } = placement(scene, size);
  for (const pass of [false, true]) {
    for (const node of scene.nodes) {
      const strong = node.status !== "same" || selected.has(node.key);
      if (!node.shown || strong !== pass) continue;
      const w = Math.max(strong ? 4 : 1.5, node.w * sx);
      const h = Math.max(strong ? 3 : 1, node.h * sy);
      context.fillStyle = selected.has(node.key)
        ? colors.accent
        : strong
          ? colors.status[node.status]
          : colors.lineStrong;
      context.globalAlpha = strong ? 1 : 0.5;
      context.fillRect(node.x * sx + dx - w / 2, node.y * sy + dy - h / 2, w, h);
    }
  }
  context.globalAlpha = 1;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {Size} size
 * @param {Camera} camera
 * @param {Size} viewSize
 * @param {import("../elements/theme.js").Colors} colors
 */
function drawView(context, scene, size, camera, viewSize, colors) {
  const { sx, sy, dx, dy } = placement(scene, size);
  const w = (viewSize.width / camera.zoom) * sx;
  const h = (viewSize.height / camera.zoom) * sy;
  context.strokeStyle = colors.ink;
  context.lineWidth = 1.2;
  context.strokeRect(camera.x * sx + dx - w / 2, camera.y * sy + dy - h / 2, w, h);
}

/**
 * Return the point of the drawing at a point of the map.
 * @param {Scene} scene
 * @param {Size} size
 * @param {{x: number, y: number}} point
 */
export function fromMap(scene, size, point) {
  const { sx, sy, dx, dy } = placement(scene, size);
  return { x: (point.x - dx) / sx, y: (point.y - dy) / sy };
}
