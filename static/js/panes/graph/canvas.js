// The canvas and its map: paints the scene, and handles the pointer.
import { listen, part, partOf } from "../../elements/dom.js";
import { toDrawing, toScreen } from "../../graph/camera.js";
import { createPainter } from "../../graph/canvas.js";
import { drawPointed } from "../../graph/boxes.js";
import { drawScene, drawStanding, isFar } from "../../graph/draw.js";
import { edgeAt } from "../../graph/edge_hit.js";
import { countInView, headerOf, isOnTriangle, nodeAt } from "../../graph/hit.js";
import { createMap, fromMap } from "../../graph/minimap.js";
import { createMotion } from "../../graph/motion.js";
import { piecesAt } from "../../graph/pieces.js";
import { mountPointer } from "../../graph/pointer.js";
import { PAINTED_AT_ONCE, createBitmapCache, farPaint } from "../../graph/bitmap_cache.js";
import { together } from "../../state/state.js";
import { colors } from "../../elements/theme.js";
import { fillEdgeTip, fillTip } from "./tip.js";

/**
 * @typedef {import("../../graph/scene.js").Scene} Scene
 * @typedef {import("../../graph/scene.js").SceneNode} SceneNode
 * @typedef {import("../../graph/scene.js").SceneEdge} SceneEdge
 * @typedef {import("../../graph/camera.js").Camera} Camera
 *
 * @typedef {object} Drawing content to paint; the graph changes it and calls `repaint`
 * @property {Scene | null} scene
 * @property {import("../../graph/draw.js").Emphasis} emphasis
 * @property {import("../../graph/boxes.js").Pointed} pointed highlights from other panes
 * @property {Map<string, string>} because reasons for fallbacks to the reference, by key of the node
 * @property {(key: string) => string} says the overlay's text for a node
 *
 * @typedef {object} Canvas
 * @property {() => void} repaint
 * @property {() => import("../../graph/camera.js").Size} size
 * @property {() => void} stop
 */

/** Click tolerance around a node or an edge. */
const SLACK_PX = 3;
const EDGE_SLACK_PX = 6;

/**
 * @param {HTMLElement} root root element of the graph
 * @param {Drawing} drawing
 * @param {{camera: () => Camera, look: (camera: Camera) => void, choose: (node: SceneNode | null) => void, toggle: (node: SceneNode) => void, chooseEdge: (edge: SceneEdge) => void}} hooks
 * @returns {Canvas}
 */
export function mountCanvas(root, drawing, { camera, look, choose, toggle, chooseEdge }) {
  const canvas = partOf(root, "canvas", HTMLCanvasElement);
  const map = partOf(root, "map", HTMLCanvasElement);
  const stage = part(root, "stage");
  const tip = part(root, "tip");
  const { emphasis } = drawing;
  const still = createBitmapCache();
  const minimap = createMap();
  const motion = createMotion((isMoving) => stage.toggleAttribute("data-moving", isMoving));
  /** @type {unknown[]} */
  let picturedParts = [];
  let picturedCount = 0;

  const painter = createPainter(canvas, (context, size) => {
    const { scene } = drawing;
    if (!scene) return context.clearRect(0, 0, size.width, size.height);
    const started = performance.now();
    let drawn = Number(stage.dataset.drawn);
    const draw = () => {
      drawn = paint(context, scene, size);
      drawPointed(context, scene, camera(), size, colors(), drawing.pointed);
    };
    if (motion.paint(context, scene, camera(), size, !isPictured(scene), draw)) painter.repaint();
    // For tests and debugging: the content of the canvas without reading pixels.
    stage.dataset.drawn = String(drawn);
    stage.dataset.zoom = camera().zoom.toFixed(3);
    const focus = scene.byKey.get(emphasis.focus);
    const at = focus && toScreen(camera(), size, focus);
    stage.dataset.focusAt = at ? `${at.x.toFixed(1)},${at.y.toFixed(1)}` : "";
    stage.dataset.paintMs = (performance.now() - started).toFixed(1);
    mapPainter.repaint();
  });

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Scene} scene
   * @param {import("../../graph/camera.js").Size} size
   * @returns {number} nodes in view
   */
  function paint(context, scene, size) {
    const from = camera();
    if (!isPictured(scene))
      return drawScene(context, scene, from, size, colors(), emphasis);
    context.clearRect(0, 0, size.width, size.height);
    const { width, height } = scene;
    const paint = farPaint(scene, colors(), emphasis);
    const subject = { of: pictured(scene), whole: { width, height }, paint };
    if (!still.show(context, window.devicePixelRatio || 1, from, size, subject)) painter.repaint();
    drawStanding(context, scene, from, size, colors(), emphasis);
    return countInView(scene, from, size);
  }

  /** Return whether to show bitmaps that are painted in steps: only for large scenes at a small zoom. */
  function isPictured(/** @type {Scene} */ scene) {
    return isFar(camera()) && scene.nodes.length + scene.edges.length > PAINTED_AT_ONCE;
  }

  /** Return the key of a picture's content; a new key requires a new picture. */
  function pictured(/** @type {Scene} */ scene) {
    const parts = [scene, colors(), emphasis.found, emphasis.fallbacks, emphasis.paints];
    if (parts.some((part, i) => part !== picturedParts[i])) {
      picturedParts = parts;
      picturedCount += 1;
    }
    return String(picturedCount);
  }
  const mapPainter = createPainter(map, (context, size) => {
    if (drawing.scene)
      minimap.draw(context, drawing.scene, size, camera(), painter.size(), colors(), emphasis.selected);
  });

  /** @param {{x: number, y: number}} screen */
  function nodeUnder(screen, slack = 0) {
    return (
      drawing.scene &&
      nodeAt(drawing.scene, toDrawing(camera(), painter.size(), screen), slack / camera().zoom)
    );
  }

  /** @param {{x: number, y: number}} screen */
  function edgeUnder(screen) {
    const from = camera();
    if (!drawing.scene || isFar(from)) return null;
    const point = toDrawing(from, painter.size(), screen);
    return edgeAt(drawing.scene.edges, point, EDGE_SLACK_PX / from.zoom);
  }

  /** @param {{x: number, y: number} | null} screen */
  function hover(screen) {
    const node = screen && nodeUnder(screen);
    const edge = screen && !nodeUnder(screen, SLACK_PX) ? edgeUnder(screen) : null;
    canvas.toggleAttribute("data-hit", node !== null || edge !== null);
    if (emphasis.hover !== (node?.key ?? "")) {
      emphasis.hover = node?.key ?? "";
      const { scene } = drawing;
      emphasis.hovered = scene && node ? piecesAt(scene, new Set([node.key])) : new Set();
      painter.repaint();
    }
    if (emphasis.edge !== (edge?.key ?? "")) {
      emphasis.edge = edge?.key ?? "";
      painter.repaint();
    }
    tip.hidden = node === null && edge === null;
    if (edge && screen) return tipOfEdge(edge, screen);
    if (!node) return;
    fillTip(tip, node, drawing.because.get(node.key) ?? "", drawing.says(node.key));
    const { x, y, w, h } = node.open ? headerOf(node) : node;
    const corner = toScreen(camera(), painter.size(), { x: x + w / 2, y: y - h / 2 });
    placeTip({ x: corner.x + 10, y: corner.y });
  }

  /** @param {SceneEdge} edge @param {{x: number, y: number}} screen */
  function tipOfEdge({ from, to }, screen) {
    const label = (/** @type {string} */ key) => drawing.scene?.byKey.get(key)?.label ?? "";
    fillEdgeTip(tip, label(from), label(to));
    placeTip({ x: screen.x + 14, y: screen.y + 10 });
  }

  /** @param {{x: number, y: number}} corner top left, adjusted to the available space */
  function placeTip({ x, y }) {
    const { width, height } = painter.size();
    tip.style.left = `${Math.max(4, Math.min(x, width - tip.offsetWidth - 6))}px`;
    tip.style.top = `${Math.max(4, Math.min(y, height - tip.offsetHeight - 6))}px`;
  }

  /** @param {{x: number, y: number}} screen */
  function click(screen) {
    const node = nodeUnder(screen, SLACK_PX);
    const edge = node ? null : edgeUnder(screen);
    if (edge) chooseEdge(edge);
    else if (node?.hasBodies && isOnTriangle(node, toDrawing(camera(), painter.size(), screen))) toggle(node);
    else choose(node);
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
      click,
    }),
    listen(map, { pointerdown: aim, pointermove: (event) => event.buttons & 1 && aim(event) }),
    motion.stop,
    painter.stop,
    mapPainter.stop,
  );
  return { repaint: painter.repaint, size: painter.size, stop };
}
