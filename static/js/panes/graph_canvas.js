// The canvas and its map: paints the scene, and turns the pointer into looks and choices.
import { listen, part, partOf } from "../dom.js";
import { toDrawing, toScreen } from "../graph/camera.js";
import { createPainter } from "../graph/canvas.js";
import { drawPointed } from "../graph/boxes.js";
import { drawScene } from "../graph/draw.js";
import { drawMap, fromMap } from "../graph/minimap.js";
import { mountPointer } from "../graph/pointer.js";
import { nodeAt } from "../graph/scene.js";
import { together } from "../state.js";
import { colors } from "../theme.js";
import { fillTip } from "./tip.js";

/**
 * @typedef {import("../graph/scene.js").Scene} Scene
 * @typedef {import("../graph/scene.js").SceneNode} SceneNode
 * @typedef {import("../graph/camera.js").Camera} Camera
 *
 * @typedef {object} Drawing what is painted; changed by the graph, then `repaint`
 * @property {Scene | null} scene
 * @property {import("../graph/draw.js").Emphasis} emphasis
 * @property {import("../graph/boxes.js").Pointed} pointed from other panes
 * @property {Map<string, string>} because why the reference runs a node, by key
 *
 * @typedef {object} Canvas
 * @property {() => void} repaint
 * @property {() => import("../graph/camera.js").Size} size
 * @property {() => void} stop
 */

/** How far beside a node a click still means it. */
const SLACK_PX = 3;

/**
 * @param {HTMLElement} root of the graph
 * @param {Drawing} drawing
 * @param {{camera: () => Camera, look: (camera: Camera) => void, choose: (node: SceneNode | null) => void}} hooks
 * @returns {Canvas}
 */
export function mountCanvas(root, drawing, { camera, look, choose }) {
  const canvas = partOf(root, "canvas", HTMLCanvasElement);
  const map = partOf(root, "map", HTMLCanvasElement);
  const stage = part(root, "stage");
  const tip = part(root, "tip");
  const { emphasis } = drawing;

  const painter = createPainter(canvas, (context, size) => {
    const { scene } = drawing;
    if (!scene) return context.clearRect(0, 0, size.width, size.height);
    const started = performance.now();
    const drawn = drawScene(context, scene, camera(), size, colors(), emphasis);
    drawPointed(context, scene, camera(), size, colors(), drawing.pointed);
    // For tests and for the curious: what is on the canvas, without reading pixels.
    stage.dataset.drawn = String(drawn);
    stage.dataset.zoom = camera().zoom.toFixed(3);
    stage.dataset.paintMs = (performance.now() - started).toFixed(1);
    mapPainter.repaint();
  });
  const mapPainter = createPainter(map, (context, size) => {
    if (drawing.scene)
      drawMap(context, drawing.scene, size, camera(), painter.size(), colors(), emphasis.selected);
  });

  /** @param {{x: number, y: number}} screen */
  function nodeUnder(screen, slack = 0) {
    return (
      drawing.scene &&
      nodeAt(drawing.scene, toDrawing(camera(), painter.size(), screen), slack / camera().zoom)
    );
  }

  /** @param {{x: number, y: number} | null} screen */
  function hover(screen) {
    const node = screen && nodeUnder(screen);
    canvas.toggleAttribute("data-hit", node !== null);
    if (emphasis.hover !== (node?.key ?? "")) {
      emphasis.hover = node?.key ?? "";
      painter.repaint();
    }
    tip.hidden = node === null;
    if (!node) return;
    fillTip(tip, node, drawing.because.get(node.key) ?? "");
    const corner = toScreen(camera(), painter.size(), {
      x: node.x + node.w / 2,
      y: node.y - node.h / 2,
    });
    const { width, height } = painter.size();
    tip.style.left = `${Math.max(4, Math.min(corner.x + 10, width - tip.offsetWidth - 6))}px`;
    tip.style.top = `${Math.max(4, Math.min(corner.y, height - tip.offsetHeight - 6))}px`;
  }

  function aim(/** @type {PointerEvent} */ event) {
    if (!drawing.scene) return;
    const box = map.getBoundingClientRect();
    const point = { x: event.clientX - box.left, y: event.clientY - box.top };
    look({
      ...camera(),
      ...fromMap(drawing.scene, { width: map.clientWidth, height: map.clientHeight }, point),
    });
  }

  const stop = together(
    mountPointer(canvas, {
      camera,
      size: painter.size,
      look,
      hover,
      click: (screen) => choose(nodeUnder(screen, SLACK_PX)),
    }),
    listen(map, { pointerdown: aim, pointermove: (event) => event.buttons & 1 && aim(event) }),
    painter.stop,
    mapPainter.stop,
  );
  return { repaint: painter.repaint, size: painter.size, stop };
}
