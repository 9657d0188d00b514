// The graph of the stage, before and after its pass, drawn in the places that the union of all
// stages was given once.
import { turn, watchSwitch } from "../bound.js";
import { clone, closest, listen, part, partOf } from "../dom.js";
import { pointedAt } from "../graph/boxes.js";
import { zoomAt } from "../graph/camera.js";
import {
  anchorOf,
  centeredLook,
  firstLook,
  lookAtNodes,
  markedNodes,
  seesAny,
  wholeLook,
} from "../graph/looks.js";
import { piecesOfEdge } from "../graph/edge_walk.js";
import { piecesAt } from "../graph/pieces.js";
import { buildScene, walk } from "../graph/scene.js";
import { OVERLAYS, overlayOf } from "../graph/overlays.js";
import { fallbackNodes } from "../running.js";
import { NOTHING, selectNode, selectedIds } from "../selection.js";
import { differs } from "../snapshots.js";
import { together } from "../state.js";
import { colors } from "../theme.js";
import { word } from "../words.js";
import { mountCanvas } from "./graph_canvas.js";
import { createEdges } from "./graph_edges.js";
import { mountExport } from "./graph_export.js";
import { mountGroups } from "./graph_groups.js";
import { mountOnnx } from "./graph_onnx.js";
import { mountOver } from "./graph_over.js";
import { mountSearch } from "./graph_search.js";
import { mountGraphTable } from "./graph_table.js";
import { mountUnion } from "./graph_union.js";
import { mountUnplaced } from "./graph_unplaced.js";
import { showLegend } from "./legend.js";

/**
 * @typedef {import("../page.js").PageState} PageState
 * @typedef {import("../graph/scene.js").Scene} Scene
 * @typedef {import("../graph/scene.js").SceneNode} SceneNode
 * @typedef {import("../graph/camera.js").Camera} Camera
 */

const ZOOM_STEP = 1.35;

/**
 * @param {HTMLElement} root
 * @param {PageState} state
 * @param {import("../graph/layout.js").Layouter} layouter
 * @returns {{stop: () => void, actions: Record<string, () => boolean | void>}}
 */
export function mountGraph(root, state, layouter) {
  root.replaceChildren(clone("graph"));
  const stage = part(root, "stage");
  const twin = part(root, "table-twin");
  /** @type {import("../graph/scene.js").Places | null} */
  let places = null;
  /** @type {import("../wire.js").Union | null} */
  let union = null;
  /** @type {{key: string, x: number, y: number} | null} a group that keeps its place on the screen */
  let held = null;
  /** @type {Camera | null} the look that nobody chose */
  let auto = null;
  /** @type {import("./graph_canvas.js").Drawing} */
  const drawing = {
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
  const { emphasis } = drawing;

  const look = (/** @type {Camera | null} */ camera) => camera && state.set({ camera });
  /** @returns {Camera} */
  function camera() {
    if (state.get().camera) return /** @type {Camera} */ (state.get().camera);
    if (!drawing.scene) return { x: 0, y: 0, zoom: 1 };
    // Before the canvas was laid out there is nothing to look through.
    if (canvas.size().width === 0) return firstLook(drawing.scene, canvas.size(), emphasis.selected);
    return (auto ??= firstLook(drawing.scene, canvas.size(), emphasis.selected));
  }
  const canvas = mountCanvas(root, drawing, {
    camera,
    look,
    choose: (node) => (node ? choose(node) : state.set(NOTHING)),
    chooseEdge: (edge) => edges.choose(edge),
  });
  const edges = createEdges(state, () => drawing.scene, { show, announce });
  const search = mountSearch(root, state, () => drawing.scene, {
    found: (keys) => {
      emphasis.found = new Set(keys);
      canvas.repaint();
    },
    show: ({ key }) => show([key]),
    // What is found in a closed group is selected in it, once it is open.
    choose: ({ key, id }) => {
      const found = drawing.scene?.states.get(id)?.node;
      if (found) state.set({ ...selectNode(found), open: groups.toggledFor(id) });
      show([drawing.scene?.keyOf.get(id) ?? key]);
    },
  });
  const groups = mountGroups(root, state, {
    union: () => union,
    frame: (key) => nodeOf(key),
    hold: (key) => {
      const group = nodeOf(key);
      held = group && { key, x: group.x, y: group.y - group.h / 2 };
    },
  });
  /** Nodes have other places now; the one that is looked at keeps its place on the screen. */
  function placed(
    /** @type {import("../graph/scene.js").Places | null} */ found,
    /** @type {import("../wire.js").Union | null} */ drawn,
  ) {
    const { scene } = drawing;
    const isLooking = scene && found && (emphasis.selected.size > 0 || state.get().camera);
    const looked = isLooking ? anchorOf(scene, camera(), [emphasis.focus, ...emphasis.selected]) : null;
    const was = scene && (held || looked) && camera();
    [places, union] = [found, drawn];
    auto = null;
    rebuild();
    groups.show();
    const group = held && nodeOf(held.key);
    const node = looked && drawing.scene?.byKey.get(drawing.scene.keyOf.get(looked.id) ?? "");
    if (was && held && group)
      look({ ...was, x: was.x + group.x - held.x, y: was.y + group.y - group.h / 2 - held.y });
    else if (was && looked && node)
      look({ ...was, x: was.x + node.x - looked.x, y: was.y + node.y - looked.y });
    if (!held) revealSelected();
    if (found) held = null;
  }
  const nodeOf = (/** @type {string} */ key) => drawing.scene?.byKey.get(key) ?? null;

  function rebuild() {
    const { graph, before, view, result, stage: at, base } = state.get();
    const changed = differs(result?.stages ?? [], at, base);
    const scene = places && graph ? buildScene(places, before, graph, view, changed) : null;
    drawing.scene = scene;
    stage.dataset.stage = scene ? String(at) : "";
    markFallbacks();
    emphasize();
    point();
    if (scene) follow(scene);
    search.refresh();
    part(root, "canvas").setAttribute("aria-label", scene ? describe(scene) : word("graph.none"));
  }

  /** A node keeps its id through the passes, so what is a fallback in the end is marked all along. */
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

  /** Colours the nodes by what was chosen, and says what the colours mean. */
  function paintNodes() {
    const { graph, before, color, result, values, placement } = state.get();
    const { scene } = drawing;
    const kinds = { less: "overlay.less", other: "overlay.other", plain: "overlay.plain" };
    const words = { less: word(kinds.less), other: word(kinds.other), plain: word(kinds.plain) };
    const isPlain = color === "family";
    const nodes = new Map(isPlain ? [] : [...(before?.nodes ?? []), ...(graph?.nodes ?? [])].map((n) => [n.id, n]));
    const boxes = [...(scene?.nodes.filter((node) => node.shown) ?? []), ...(scene?.frames ?? [])];
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
    canvas.repaint();
  }

  /** Marks what other panes point at; what a step took and made is brought into view. */
  function point() {
    drawing.pointed = pointedAt(drawing.scene, state.get());
    const { boxed, preview } = drawing.pointed;
    stage.dataset.boxed = String(boxed.size);
    stage.dataset.preview = String(preview.size);
    canvas.repaint();
  }

  /** Until somebody moves the drawing, it follows the changes, and moves no more than it must. */
  function follow(/** @type {Scene} */ scene) {
    if (state.get().camera || !auto) return;
    const marked = markedNodes(scene).map((node) => node.key);
    if (marked.length && !seesAny(scene, auto, canvas.size(), marked)) auto = null;
  }

  function emphasize() {
    const { graph, before } = state.get();
    const { scene } = drawing;
    emphasis.selected = new Set();
    emphasis.near = new Set();
    // A group has no id: once stood on, it keeps the keyboard until a node is selected.
    const stoodOn = nodeOf(emphasis.focus)?.node === null ? emphasis.focus : "";
    emphasis.focus = scene?.keyOf.get(state.get().at) ?? stoodOn;
    for (const id of scene && graph
      ? selectedIds([...graph.nodes, ...(before?.nodes ?? [])], state.get())
      : []) {
      const key = scene?.keyOf.get(id) ?? "";
      if (nodeOf(key)?.shown) emphasis.selected.add(key);
    }
    for (const key of emphasis.selected) {
      const { before: sources, after: readers } = scene?.neighbours().get(key) ?? {
        before: [],
        after: [],
      };
      for (const near of [...sources, ...readers])
        if (!emphasis.selected.has(near)) emphasis.near.add(near);
    }
    emphasis.through = scene ? piecesAt(scene, emphasis.selected) : new Set();
    emphasis.chosen = piecesOfEdge(scene, state.get().edge);
    stage.dataset.edge = emphasis.chosen.size ? state.get().edge : "";
    canvas.repaint();
  }

  /** What another pane selects is brought into view; what is in view stays where it is. */
  function revealSelected() {
    const { selected, focus } = emphasis;
    if (!drawing.scene || selected.size === 0 || canvas.size().width === 0) return;
    const { size, raise } = clearPart();
    if (!seesAny(drawing.scene, raise(camera(), 1), size, selected))
      show(focus ? [focus] : [...selected].slice(0, 1));
  }

  function show(/** @type {Iterable<string>} */ keys) {
    const { size, raise } = clearPart();
    if (drawing.scene) look(raise(lookAtNodes(drawing.scene, raise(camera(), 1), size, keys), -1));
  }

  /** The part of the drawing above the legend: its size, and a camera moved to its middle or back. */
  function clearPart() {
    const covered = part(root, "legend").offsetHeight;
    const { width, height } = canvas.size();
    const raise = (/** @type {import("../graph/camera.js").Camera} */ at, /** @type {1 | -1} */ way) =>
      ({ ...at, y: at.y - (way * covered) / 2 / at.zoom });
    return { size: { width, height: height - covered }, raise };
  }

  /** Selects a node; opens or closes a group. */
  function choose(/** @type {SceneNode | null} */ node) {
    if (node?.node) state.set(selectNode(node.node));
    else if (node) groups.toggle(node);
  }

  /** Puts the keyboard on a node. A group is only stood on; Enter opens it. */
  function standOn(/** @type {SceneNode | null} */ node) {
    if (!node) return;
    state.set(node.node ? selectNode(node.node) : NOTHING);
    emphasis.focus = node.key;
    show([node.key]);
    canvas.repaint();
    announce(
      `${node.status === "same" ? "" : `${word(`mark.${node.status}`)}: `}${node.label} ${node.sub}`,
    );
  }

  function step(/** @type {"before" | "after" | "left" | "right"} */ direction) {
    const { scene } = drawing;
    if (scene) standOn(nodeOf(edges.along(direction) || walk(scene, emphasis.focus, direction)));
  }

  function nextChange() {
    const marked = drawing.scene ? markedNodes(drawing.scene) : [];
    if (marked.length === 0) return announce(word("graph.no-change"));
    standOn(marked[(marked.findIndex((node) => node.key === emphasis.focus) + 1) % marked.length]);
  }

  function zoomBy(/** @type {number} */ factor) {
    const { width, height } = canvas.size();
    look(zoomAt(camera(), canvas.size(), { x: width / 2, y: height / 2 }, factor));
  }

  function center() {
    if (!drawing.scene) return;
    const keys = emphasis.selected.size
      ? emphasis.selected
      : markedNodes(drawing.scene).map((node) => node.key);
    look(centeredLook(drawing.scene, canvas.size(), keys));
  }

  function setColor(/** @type {string} */ name) {
    state.set({ color: OVERLAYS.find((each) => each === name) ?? "family" });
  }

  function nextColor() {
    const next = OVERLAYS[(OVERLAYS.indexOf(state.get().color) + 1) % OVERLAYS.length];
    setColor(next);
    const choice = partOf(root, "color", HTMLSelectElement);
    announce(choice.selectedOptions[0]?.textContent ?? "");
  }

  /** What is drawn too slowly is a table at once; that is nobody's choice, and in no link. */
  function showTable(/** @type {boolean} */ on) {
    twin.hidden = !on;
    part(root, "table").setAttribute("aria-pressed", String(on));
  }

  const buttons = {
    "zoom-in": () => zoomBy(ZOOM_STEP),
    "zoom-out": () => zoomBy(1 / ZOOM_STEP),
    fit: () => drawing.scene && look(wholeLook(drawing.scene, canvas.size())),
    center,
    table: () => {
      const on = twin.hidden !== false;
      turn(state, "table", on);
      showTable(on);
    },
  };
  const stop = together(
    ...Object.entries(buttons).map(([name, click]) => listen(part(root, name), { click })),
    mountViews(part(root, "views"), state),
    mountExport(root, drawing, () => {
      const { result, stage: at } = state.get();
      return `${result?.model.name || "graph"}-${at}-${result?.stages[at]?.name ?? ""}`;
    }),
    mountOnnx(root, state),
    mountOver(root, state),
    watchSwitch(state, "table", showTable),
    mountUnplaced(root, state),
    listen(part(root, "color"), {
      change: (event) => setColor(/** @type {HTMLSelectElement} */ (event.target).value),
    }),
    listenToTheme(paintNodes),
    state.watch(["color", "values", "placement"], paintNodes),
    mountGraphTable(twin, state),
    mountUnion(root, state, layouter, {
      showTable,
      placed,
    }),
    state.watch(["graph", "before", "view"], rebuild),
    state.watch(["result"], markFallbacks),
    state.watch(["preview", "boxed"], point),
    state.watch(["selection", "at", "edge"], () => {
      emphasize();
      revealSelected();
    }),
    state.watch(["camera"], canvas.repaint),
    search.stop,
    groups.stop,
    canvas.stop,
  );
  const still = (/** @type {() => unknown} */ action) => () => void action();
  return {
    stop,
    actions: {
      ...Object.fromEntries(Object.entries(buttons).map(([name, action]) => [name, still(action)])),
      "next-change": nextChange,
      "next-color": nextColor,
      search: () => part(root, "search").focus(),
      "focus-graph": () => part(root, "canvas").focus(),
      "node-after": () => step("after"),
      "node-before": () => step("before"),
      "node-left": () => step("left"),
      "node-right": () => step("right"),
      "node-select": () => void (edges.pinChosen() || choose(nodeOf(emphasis.focus))),
      "next-edge": edges.next,
      "previous-edge": edges.previous,
      "toggle-group": () => groups.toggleAt(nodeOf(emphasis.focus)),
      "open-groups": groups.openAll,
      "close-groups": groups.closeAll,
    },
  };
}

/**
 * What is written in groups beside their names: how many nodes, and all of what colours them.
 * @param {Scene | null} scene
 * @param {import("../graph/overlays.js").Overlay | null} overlay
 * @returns {Map<string, string>}
 */
function sumsOf(scene, overlay) {
  const boxes = [...(scene?.nodes ?? []), ...(scene?.frames ?? [])].filter(({ node }) => node === null);
  return new Map(
    boxes.flatMap(({ key, ids }) => {
      const value = overlay?.says.get(key);
      return value === undefined ? [] : [[key, word("graph.group", { n: ids.length, value })]];
    }),
  );
}

/**
 * Before, changes, after.
 * @param {HTMLElement} views
 * @param {PageState} state
 */
function mountViews(views, state) {
  return together(
    listen(views, {
      click: (event) => {
        const view = closest(event, "[data-view]")?.dataset.view;
        if (view) state.set({ view: /** @type {import("../url.js").View} */ (view) });
      },
    }),
    state.watch(["view"], ({ view }) => {
      for (const each of views.querySelectorAll("button"))
        each.setAttribute("aria-pressed", String(each.dataset.view === view));
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

/** @param {string} text said to screen readers */
function announce(text) {
  const place = document.getElementById("announce");
  if (place) place.textContent = text;
}

/** @param {Scene} scene */
function describe(scene) {
  const shown = scene.nodes.filter((node) => node.shown);
  const count = (/** @type {string} */ status) =>
    shown.filter((node) => node.status === status).length;
  return word("graph.describe", {
    n: shown.length,
    added: count("added"),
    removed: count("removed"),
    changed: count("changed"),
  });
}
