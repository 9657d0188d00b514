// Saves the drawing as SVG, PNG or DOT.
import { closest, listen, part } from "../../elements/dom.js";
import { drawScene, paintOf } from "../../graph/draw.js";
import { toDot, toSvg } from "../../graph/export.js";
import { together } from "../../state/state.js";
import { colors } from "../../elements/theme.js";

/** Maximum side of a bitmap that all browsers paint, in pixels. */
const MOST_PX = 8000;
const MARGIN = 20;

/**
 * @param {HTMLElement} root root element of the graph
 * @param {import("./canvas.js").Drawing} drawing
 * @param {() => string} name name of the file without extension
 * @returns {() => void}
 */
export function mountExport(root, drawing, name) {
  const menu = /** @type {HTMLDetailsElement} */ (part(root, "export"));
  const stopMenu = listen(menu, {
    click: async (event) => {
      const kind = closest(event, "[data-export]")?.dataset.export;
      const { scene, emphasis } = drawing;
      if (!kind || !scene) return;
      menu.open = false;
      const paint = (/** @type {import("../../graph/scene.js").SceneNode} */ node) =>
        paintOf(node, colors(), emphasis);
      if (kind === "svg") {
        const text = plainColors(toSvg(scene, colors(), paint));
        save(new Blob([text], { type: "image/svg+xml" }));
      } else if (kind === "dot") save(new Blob([toDot(scene)], { type: "text/vnd.graphviz" }));
      else save(await toPng(scene, emphasis));
      function save(/** @type {Blob} */ blob) {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(blob);
        link.download = `${name()}.${kind}`;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      }
    },
    keydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape" || !menu.open) return;
      event.stopPropagation();
      menu.open = false;
      menu.querySelector("summary")?.focus();
    },
  });
  // A press outside closes the menu.
  const stopPage = listen(document, {
    pointerdown: (event) => {
      if (!event.composedPath().includes(menu)) menu.open = false;
    },
  });
  return together(stopMenu, stopPage);
}

/**
 * Convert colours to hexadecimal RGB, which every program reads.
 * @param {string} svg
 */
function plainColors(svg) {
  const canvas = new OffscreenCanvas(1, 1);
  const context = /** @type {any} */ (canvas.getContext("2d", { willReadFrequently: true }));
  /** @type {Map<string, string>} */
  const known = new Map();
  const plain = (/** @type {string} */ color) => {
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
    return `#${[r, g, b].map((each) => each.toString(16).padStart(2, "0")).join("")}`;
  };
  return svg.replace(/(?<=(?:fill|stroke)=")[a-z]+\([^"]*(?=")/g, (color) => {
    const found = known.get(color) ?? plain(color);
    known.set(color, found);
    return found;
  });
}

/**
 * Render the whole drawing at up to twice its size, within the limits of browsers.
 * @param {import("../../graph/scene.js").Scene} scene
 * @param {import("../../graph/draw.js").Emphasis} emphasis
 * @returns {Promise<Blob>}
 */
function toPng(scene, emphasis) {
  const [width, height] = [scene.width + 2 * MARGIN, scene.height + 2 * MARGIN];
  const zoom = Math.min(2, MOST_PX / Math.max(width, height));
  const size = { width: Math.ceil(width * zoom), height: Math.ceil(height * zoom) };
  const canvas = new OffscreenCanvas(size.width, size.height);
  const context = /** @type {any} */ (canvas.getContext("2d"));
  const camera = { x: scene.width / 2, y: scene.height / 2, zoom };
  drawScene(context, scene, camera, size, colors(), emphasis);
  context.globalCompositeOperation = "destination-over";
  context.fillStyle = colors().paper;
  context.fillRect(0, 0, size.width, size.height);
  return canvas.convertToBlob({ type: "image/png" });
}
