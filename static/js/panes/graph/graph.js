// Draws the graph of a stage before and after its pass, at the fixed places of the union of all
// stages.
import { turn, watchSwitch } from "../../state/bindings.js";
import { announce, clone, closest, listen, part, partOf } from "../../elements/dom.js";
import { markedNodes } from "../../graph/framing.js";
import { countMarked } from "../../graph/scene.js";
import { OVERLAYS } from "../../graph/overlays.js";
import { walk } from "../../graph/walk.js";
import { NOTHING, selectNode } from "../../state/selection.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { mountCanvas } from "./canvas.js";
import { createEdges } from "./edges.js";
import { mountExport } from "./export.js";
import { mountGroups } from "./groups.js";
import { createFraming } from "./framing.js";
import { emptyDrawing, mountMarks } from "./marks.js";
import { mountNoColors } from "./no_colors.js";
import { mountOnnx } from "./onnx.js";
import { mountOver } from "./over.js";
import { createScenes } from "./scene.js";
import { mountSearch } from "./search.js";
import { mountGraphTable } from "./table.js";
import { mountUnion } from "./union.js";

/**
 * @typedef {import("../../state/page.js").PageState} PageState
 * @typedef {import("../../graph/scene.js").Scene} Scene
 * @typedef {import("../../graph/scene.js").SceneNode} SceneNode
 */

const ZOOM_STEP = 1.35;

/**
 * @param {HTMLElement} root
 * @param {PageState} state
 * @param {import("../../graph/layout.js").Layouter} layouter
 * @returns {{stop: () => void, actions: Record<string, () => boolean | void>}}
 */
export function mountGraph(root, state, layouter) {
  root.replaceChildren(clone("graph"));
  const stage = part(root, "stage");
  const twin = part(root, "table-twin");
  /** @type {import("../../wire.js").Union | null} */
  let union = null;
  /** @type {import("./framing.js").Held | null} a group with a fixed position on the screen */
  let held = null;
  const drawing = emptyDrawing();
  const { emphasis } = drawing;
  const nodeOf = (/** @type {string} */ key) => drawing.scene?.byKey.get(key) ?? null;

  const framing = createFraming(state, drawing, () => canvas.size());
  const { show } = framing;
  const canvas = mountCanvas(root, drawing, {
    camera: framing.camera,
    look: framing.look,
    choose: (node) => (node ? choose(node) : state.set(NOTHING)),
    toggle: (node) => groups.toggle(node),
    chooseEdge: (edge) => edges.choose(edge),
  });
  const edges = createEdges(state, () => drawing.scene, { show, announce });
  const search = mountSearch(root, state, () => drawing.scene, {
    found: (keys) => {
      emphasis.found = new Set(keys);
      canvas.repaint();
    },
    show: ({ key }) => show([key]),
    // If a search hit is in a closed group, select the hit after the group opens.
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
  const marks = mountMarks(root, state, drawing, {
    repaint: () => canvas.repaint(),
    selected: framing.revealSelected,
  });

  /** Show another scene with its highlights. */
  function take(/** @type {import("./scene.js").Made} */ { scene, union: drawn, stage: at }) {
    const isMoved = scene?.places !== drawing.scene?.places;
    // The camera of a link applies even if the selection is out of view.
    const isLinked = !drawing.scene && state.get().camera !== null;
    const settle = isMoved ? framing.keep(scene && held) : null;
    drawing.scene = scene;
    union = drawn;
    stage.dataset.stage = scene ? String(at) : "";
    marks.show();
    if (scene) framing.follow(scene);
    search.refresh();
    part(root, "canvas").setAttribute("aria-label", scene ? describe(scene) : word("graph.none"));
    if (!settle) return;
    groups.show();
    settle();
    if (!held && !isLinked) framing.revealSelected();
    if (scene) held = null;
  }

  /** Select a node; open or close a group. */
  function choose(/** @type {SceneNode | null} */ node) {
    if (node?.node) state.set(selectNode(node.node));
    else if (node) groups.toggle(node);
  }

  /** Focus a node and select it. A group is only focused; Enter opens it. */
  function standOn(/** @type {SceneNode | null} */ node) {
    if (!node) return;
    state.set(node.node ? selectNode(node.node) : NOTHING);
    emphasis.focus = node.key;
    show([node.key]);
    canvas.repaint();
    announce(
      `${node.status === "same" ? "" : `${word(`mark.${node.status}`)}: `}${node.label} ${node.sub}${
        node.hasBodies ? ` ${word(node.open ? "graph.bodies-open" : "graph.bodies-closed")}` : ""
      }`,
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

  function setColor(/** @type {string} */ name) {
    state.set({ color: OVERLAYS.find((each) => each === name) ?? "family" });
  }

  function nextColor() {
    const next = OVERLAYS[(OVERLAYS.indexOf(state.get().color) + 1) % OVERLAYS.length];
    setColor(next);
    const choice = partOf(root, "color", HTMLSelectElement);
    announce(choice.selectedOptions[0]?.textContent ?? "");
  }

  /** Switch to the table, on request or for graphs too large to draw; links omit the automatic switch. */
  function showTable(/** @type {boolean} */ on) {
    twin.hidden = !on;
    part(root, "table").setAttribute("aria-pressed", String(on));
  }

  const buttons = {
    "zoom-in": () => framing.zoomBy(ZOOM_STEP),
    "zoom-out": () => framing.zoomBy(1 / ZOOM_STEP),
    fit: framing.whole,
    center: framing.center,
    table: () => {
      const on = twin.hidden !== false;
      turn(state, "table", on);
      showTable(on);
    },
  };
  const scenes = createScenes(state, take);
  const stop = together(
    ...Object.entries(buttons).map(([name, click]) => listen(part(root, name), { click })),
    mountViews(part(root, "views"), state),
    mountExport(root, drawing, () => {
      const { result, stage: at } = state.get();
      const { pass_number: number, name } = result?.stages[at] ?? { pass_number: null, name: "" };
      return [result?.model.name || "graph", number, name].filter((each) => each !== null).join("-");
    }),
    mountOnnx(root, state),
    mountOver(root, state),
    watchSwitch(state, "table", showTable),
    mountNoColors(root, state),
    listen(part(root, "color"), {
      change: (event) => setColor(/** @type {HTMLSelectElement} */ (event.target).value),
    }),
    mountGraphTable(twin, state),
    mountUnion(root, state, layouter, { showTable, placed: scenes.place }),
    state.watch(["camera"], canvas.repaint),
    scenes.stop,
    marks.stop,
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
 * Bind the buttons Before, Changes and After.
 * @param {HTMLElement} views
 * @param {PageState} state
 */
function mountViews(views, state) {
  return together(
    listen(views, {
      click: (event) => {
        const view = closest(event, "[data-view]")?.dataset.view;
        if (view) state.set({ view: /** @type {import("../../state/url.js").View} */ (view) });
      },
    }),
    state.watch(["view"], ({ view }) => {
      for (const each of views.querySelectorAll("button"))
        each.setAttribute("aria-pressed", String(each.dataset.view === view));
    }),
  );
}

/** @param {Scene} scene */
function describe(scene) {
  const shown = scene.nodes.filter((node) => node.shown);
  return word("graph.describe", {
    n: shown.reduce((sum, node) => sum + node.ids.length, 0),
    added: countMarked(scene, "added"),
    removed: countMarked(scene, "removed"),
    changed: countMarked(scene, "changed"),
    refined: countMarked(scene, "refined"),
  });
}
