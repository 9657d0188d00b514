// Highlights from other panes: previewed nodes, and the nodes of the opened rewrite.
import { definesAny } from "../results/levels.js";
import { toScreen } from "./camera.js";

/**
 * @typedef {object} Pointed
 * @property {Set<string>} preview keys of nodes under the pointer in another pane
 * @property {Set<string>} boxed keys of the nodes that the opened step matched and created
 */

const MARGIN_PX = 9;

/**
 * Return the keys of the nodes highlighted by other panes.
 * @param {import("./scene.js").Scene | null} scene
 * @param {import("../state/page.js").Page} page
 * @returns {Pointed}
 */
export function pointedAt(scene, { graph, before, preview, boxed }) {
  const origins = new Set(preview);
  const values = new Set(boxed);
  /** @type {Pointed} */
  const found = { preview: new Set(), boxed: new Set() };
  if (!scene || (origins.size === 0 && values.size === 0)) return found;
  for (const node of [...(graph?.nodes ?? []), ...(before?.nodes ?? [])]) {
    const key = scene.keyOf.get(node.id);
    if (key === undefined || !scene.byKey.get(key)?.shown) continue;
    if (node.origins.some((origin) => origins.has(origin))) found.preview.add(key);
    if (values.has(node.id) || definesAny(node, values)) found.boxed.add(key);
  }
  return found;
}

/**
 * @param {CanvasRenderingContext2D} context context with CSS pixels as units
 * @param {import("./scene.js").Scene} scene
 * @param {import("./camera.js").Camera} camera
 * @param {import("./camera.js").Size} size
 * @param {import("../elements/theme.js").Colors} colors
 * @param {Pointed} pointed
 */
export function drawPointed(context, scene, camera, size, colors, { preview, boxed }) {
  context.save();
  context.strokeStyle = colors.accent;
  for (const [keys, width, dash, margin] of /** @type {const} */ ([
    [preview, 2, [2, 4], MARGIN_PX - 3],
    [boxed, 2, [9, 5], MARGIN_PX],
  ])) {
    context.lineWidth = width;
    context.setLineDash([...dash]);
    for (const key of keys) {
      const node = scene.byKey.get(key);
      if (!node) continue;
      const { x, y } = toScreen(camera, size, { x: node.x - node.w / 2, y: node.y - node.h / 2 });
      const [w, h] = [node.w * camera.zoom, node.h * camera.zoom];
      context.strokeRect(x - margin, y - margin, w + 2 * margin, h + 2 * margin);
    }
  }
  context.restore();
}
