// Highlights of the drawing: the selection and its neighbours, nodes from other panes, fallbacks, and
// the colour overlay.
import { part, partOf } from "../../elements/dom.js";
import { pointedAt } from "../../graph/boxes.js";
import { piecesOfEdge } from "../../graph/edge_walk.js";
import { overlayOf } from "../../graph/overlays.js";
import { piecesAt } from "../../graph/pieces.js";
import { neighboursOf } from "../../graph/walk.js";
import { fallbackNodes } from "../../results/running.js";
import { selectedIds } from "../../state/selection.js";
import { together } from "../../state/state.js";
import { colors } from "../../elements/theme.js";
import { word } from "../../text/words.js";
import { showLegend } from "./legend.js";

/**
 * @typedef {import("../../graph/scene.js").Scene} Scene
 * @typedef {import("./canvas.js").Drawing} Drawing
 */

/** @returns {Drawing} a drawing without content */
export function emptyDrawing() {
  return {
    scene: null,
    emphasis: {
      selected: new Set(),
      near: new Set(),
      found: new Set(),
      fallbacks: new Set(),
      through: new Set(),
      chosen: new Set(),
      hovered: new Set(),
      sums: new Map(),
      focus: "",
      hover: "",
      edge: "",
      paints: null,
    },
    because: new Map(),
    says: () => "",
    pointed: { preview: new Set(), boxed: new Set() },
  };
}

/**
 * @param {HTMLElement} root root element of the graph
 * @param {import("../../state/page.js").PageState} state
 * @param {Drawing} drawing modified in place
 * @param {{repaint: () => void, selected: () => void}} hooks `selected` is called when another selection is marked
 * @returns {{show: () => void, stop: () => void}} `show` must be called for each new scene
 */
export function mountMarks(root, state, drawing, { repaint, selected }) {
  const stage = part(root, "stage");
  const { emphasis } = drawing;
  const nodeOf = (/** @type {string} */ key) => drawing.scene?.byKey.get(key) ?? null;

  /** Mark fallbacks at all stages: ids of nodes are stable through the passes. */
  function markFallbacks() {
    const { scene } = drawing;
    emphasis.fallbacks = new Set();
    drawing.because = new Map();
    for (const [id, because] of fallbackNodes(state.get().result?.kernels ?? [])) {
      const key = scene?.keyOf.get(id) ?? "";
      if (!nodeOf(key)?.ids.includes(id)) continue;
      emphasis.fallbacks.add(key);
      drawing.because.set(key, because);
    }
    stage.dataset.fallbacks = String(emphasis.fallbacks.size);
    paintNodes();
  }

  /** Colour the nodes by the chosen overlay and show its legend. */
  function paintNodes() {
    const { graph, before, color, result, values, placement } = state.get();
    const { scene } = drawing;
    const kinds = { less: "overlay.less", other: "overlay.other", plain: "overlay.plain" };
    const words = { less: word(kinds.less), other: word(kinds.other), plain: word(kinds.plain) };
    const isPlain = color === "family";
    const nodes = new Map(isPlain ? [] : [...(before?.nodes ?? []), ...(graph?.nodes ?? [])].map((n) => [n.id, n]));
    const boxes = isPlain ? [] : [...(scene?.nodes.filter((node) => node.shown) ?? []), ...(scene?.frames ?? [])];
    const kernels = result?.kernels ?? [];
    const overlay = isPlain ? null : overlayOf(color, boxes, nodes, kernels, words, values, placement);
    const paints = overlay && colors()[overlay.scale];
    emphasis.paints = overlay && paints && new Map([...overlay.classOf].map(([k, i]) => [k, paints[i]]));
    emphasis.sums = sumsOf(scene, overlay);
    drawing.says = (key) => {
      const value = overlay?.says.get(key);
      return value === undefined ? "" : word(`overlay.${color}`, { value });
    };
    stage.dataset.color = color;
    partOf(root, "color", HTMLSelectElement).value = color;
    if (scene) showLegend(part(root, "legend"), scene, emphasis.fallbacks, overlay);
    repaint();
  }

  /** Highlight nodes from other panes. */
  function point() {
    drawing.pointed = pointedAt(drawing.scene, state.get());
    const { boxed, preview } = drawing.pointed;
    stage.dataset.boxed = String(boxed.size);
    stage.dataset.preview = String(preview.size);
    repaint();
  }

  function emphasize() {
    const { graph, before } = state.get();
    const { scene } = drawing;
    emphasis.selected = new Set();
    // A group has no id: it keeps the focus until a node is selected.
    const stoodOn = nodeOf(emphasis.focus)?.node === null ? emphasis.focus : "";
    emphasis.focus = scene?.keyOf.get(state.get().at) ?? stoodOn;
    for (const id of scene && graph
      ? selectedIds([...graph.nodes, ...(before?.nodes ?? [])], state.get())
      : []) {
      const key = scene?.keyOf.get(id) ?? "";
      if (nodeOf(key)?.shown) emphasis.selected.add(key);
    }
    const { before: sources, after: readers } = scene
      ? neighboursOf(scene, emphasis.selected)
      : { before: [], after: [] };
    emphasis.near = new Set([...sources, ...readers].filter((key) => !emphasis.selected.has(key)));
    emphasis.through = scene ? piecesAt(scene, emphasis.selected) : new Set();
    emphasis.chosen = piecesOfEdge(scene, state.get().edge);
    stage.dataset.edge = emphasis.chosen.size ? state.get().edge : "";
    repaint();
  }

  return {
    show() {
      markFallbacks();
      emphasize();
      point();
    },
    stop: together(
      state.watch(["color", "values", "placement"], paintNodes),
      state.watch(["result"], markFallbacks),
      state.watch(["preview", "boxed"], point),
      state.watch(["selection", "at", "edge"], () => {
        emphasize();
        selected();
      }),
      listenToTheme(paintNodes),
    ),
  };
}

/**
 * Return the text of groups: number of nodes, and total of the overlay's property.
 * @param {Scene | null} scene
 * @param {import("../../graph/overlays.js").Overlay | null} overlay
 * @returns {Map<string, string>}
 */
function sumsOf(scene, overlay) {
  if (!overlay) return new Map();
  const boxes = [...(scene?.nodes ?? []), ...(scene?.frames ?? [])].filter(({ node }) => node === null);
  return new Map(
    boxes.flatMap(({ key, ids }) => {
      const value = overlay.says.get(key);
      return value === undefined ? [] : [[key, word("graph.group", { n: ids.length, value })]];
    }),
  );
}

/**
 * @param {() => void} changed
 * @returns {() => void}
 */
function listenToTheme(changed) {
  document.addEventListener("themechange", changed);
  return () => document.removeEventListener("themechange", changed);
}
