// The graph of the stage, before and after its pass, drawn in the places that the union of all
// stages was given once.
import { asProblem } from "../compile.js";
import { clone, closest, el, listen, part, partOf } from "../dom.js";
import { formatSeconds } from "../format.js";
import { fit, reveal, toDrawing, toScreen, zoomAt } from "../graph/camera.js";
import { createPainter } from "../graph/canvas.js";
import { drawScene } from "../graph/draw.js";
import { LayoutCancelled, createLayouter } from "../graph/layout.js";
import { drawMap, fromMap } from "../graph/minimap.js";
import { mountPointer } from "../graph/pointer.js";
import { boxOfKeys, buildScene, nodeAt, placeUnion, walk } from "../graph/scene.js";
import { searchNodes } from "../graph/search.js";
import { NOTHING, selectNode, selectedIds } from "../selection.js";
import { together } from "../state.js";
import { colors } from "../theme.js";
import { word } from "../words.js";
import { mountGraphTable } from "./graph_table.js";
import { showLegend } from "./legend.js";
import { fillTip } from "./tip.js";

/**
 * @typedef {import("../page.js").PageState} PageState
 * @typedef {import("../graph/scene.js").Scene} Scene
 * @typedef {import("../graph/scene.js").Places} Places
 * @typedef {import("../graph/camera.js").Camera} Camera
 */

const NOTICE_AFTER_MS = 2500;
/** The zoom at which a first look can still be read. */
const READABLE_ZOOM = 0.9;
const BORDER = 36;

/**
 * @param {HTMLElement} root
 * @param {PageState} state
 * @param {string} workerUrl
 * @returns {{stop: () => void, actions: Record<string, () => boolean | void>}}
 */
export function mountGraph(root, state, workerUrl) {
  root.replaceChildren(clone("graph"));
  const canvas = partOf(root, "canvas", HTMLCanvasElement);
  const map = partOf(root, "map", HTMLCanvasElement);
  const stage = part(root, "stage");
  const tip = part(root, "tip");
  const notice = part(root, "notice");
  const twin = part(root, "table-twin");
  const search = partOf(root, "search", HTMLInputElement);
  const layouter = createLayouter(workerUrl);
  /** @type {Places | null} */
  let places = null;
  /** @type {Scene | null} */
  let scene = null;
  /** @type {Camera | null} the look that nobody chose */
  let auto = null;
  const emphasis = { selected: new Set(), near: new Set(), found: new Set(), focus: "", hover: "" };
  let request = 0;

  const painter = createPainter(canvas, (context, size) => {
    if (!scene) return context.clearRect(0, 0, size.width, size.height);
    const camera = look();
    const started = performance.now();
    const drawn = drawScene(context, scene, camera, size, colors(), emphasis);
    // For tests and for the curious: what is on the canvas, without reading pixels.
    stage.dataset.drawn = String(drawn);
    stage.dataset.zoom = camera.zoom.toFixed(3);
    stage.dataset.paintMs = (performance.now() - started).toFixed(1);
    mapPainter.repaint();
  });
  const mapPainter = createPainter(map, (context, size) => {
    if (scene) drawMap(context, scene, size, look(), painter.size(), colors(), emphasis.selected);
  });

  /** @returns {Camera} */
  function look() {
    return state.get().camera ?? (auto ??= firstLook());
  }

  /** Until somebody moves the drawing, it follows the changes, and moves no more than it must. */
  function follow() {
    if (state.get().camera || !scene || painter.size().width === 0) return;
    if (!auto) return;
    const size = painter.size();
    const box = { w: size.width / auto.zoom, h: size.height / auto.zoom };
    const seen = scene.nodes.some((n) => n.shown && n.status !== "same" && auto && Math.abs(n.x - auto.x) < box.w / 2 && Math.abs(n.y - auto.y) < box.h / 2);
    const changed = scene.nodes.some((n) => n.shown && n.status !== "same");
    if (changed && !seen) auto = null;
  }

  /** Whole, when that can be read; else from the top, as wide as the drawing is. */
  function firstLook() {
    const size = painter.size();
    if (!scene) return { x: 0, y: 0, zoom: 1 };
    const whole = fit({ x: scene.width / 2, y: scene.height / 2, w: scene.width, h: scene.height }, size);
    if (whole.zoom >= READABLE_ZOOM) return whole;
    const changed = scene.nodes.filter((node) => node.shown && node.status !== "same").map((node) => node.key);
    const first = scene.nodes.filter((node) => node.shown).reduce((a, b) => (b.y < a.y ? b : a), scene.nodes[0]);
    const aim = boxOfKeys(scene, emphasis.selected.size ? emphasis.selected : changed.slice(0, 1)) ?? { x: first.x, y: 0 };
    const zoom = Math.max(whole.zoom, READABLE_ZOOM);
    // No emptier than need be above and below.
    const half = size.height / 2 / zoom - BORDER;
    const y = scene.height < 2 * half ? scene.height / 2 : Math.min(Math.max(aim.y, half), scene.height - half);
    const x = scene.width * zoom < size.width - 2 * BORDER ? scene.width / 2 : aim.x;
    return { x, y, zoom };
  }

  /** @param {Camera} camera */
  function lookAt(camera) {
    state.set({ camera });
  }

  async function loadUnion() {
    const number = ++request;
    const { parts, open } = state.get();
    places = scene = auto = null;
    delete stage.dataset.layout;
    painter.repaint();
    if (!parts) return;
    say(null);
    const late = setTimeout(() => number === request && offerCancel(), NOTICE_AFTER_MS);
    try {
      const union = await parts.union(open);
      if (number !== request) return;
      const { layout, seconds } = await layouter.layout(union.dot).promise;
      if (number !== request) return;
      places = placeUnion(union, layout);
      stage.dataset.layout = "ready";
      stage.dataset.layoutMs = (seconds * 1000).toFixed(0);
      say(union.collapsed ? [word("graph.collapsed", { n: union.n_nodes, drawn: union.n_drawn })] : null);
      part(root, "legend").title = word("graph.layout-time", { time: formatSeconds(seconds) });
      rebuild();
    } catch (problem) {
      if (number !== request) return;
      if (problem instanceof LayoutCancelled) say([word("graph.cancelled"), again()]);
      else say([asProblem(problem).message, again()]);
      showTable(true);
    } finally {
      clearTimeout(late);
    }
  }

  function offerCancel() {
    const cancel = el("button", { class: "button", type: "button", onclick: () => layouter.stop() }, word("graph.cancel"));
    say([word("graph.slow"), cancel]);
  }

  function again() {
    return el("button", { class: "button", type: "button", onclick: () => (showTable(false), void loadUnion()) }, word("graph.again"));
  }

  /** @param {(string | HTMLElement)[] | null} content */
  function say(content) {
    notice.hidden = content === null;
    notice.replaceChildren(...(content ?? []).map((each) => (typeof each === "string" ? el("span", {}, each) : each)));
    if (content && notice.textContent) notice.append(el("button", { class: "link-button", type: "button", onclick: () => say(null) }, word("graph.dismiss")));
  }

  function rebuild() {
    const { graph, before, view, result, stage: at } = state.get();
    scene = places && graph ? buildScene(places, before, graph, view, result?.stages[at]?.changed ?? false) : null;
    stage.dataset.stage = scene ? String(at) : "";
    emphasize();
    follow();
    find();
    if (scene) showLegend(part(root, "legend"), scene);
    canvas.setAttribute("aria-label", scene ? describe(scene) : word("graph.none"));
  }

  function emphasize() {
    const { graph, before } = state.get();
    emphasis.selected = new Set();
    emphasis.near = new Set();
    if (scene && graph) {
      const ids = selectedIds([...graph.nodes, ...(before?.nodes ?? [])], state.get());
      for (const id of ids) {
        const key = scene.keyOf.get(id);
        if (key && scene.byKey.get(key)?.shown) emphasis.selected.add(key);
      }
      for (const key of emphasis.selected) {
        const { before: b, after: a } = scene.neighbours.get(key) ?? { before: [], after: [] };
        for (const near of [...b, ...a]) if (!emphasis.selected.has(near)) emphasis.near.add(near);
      }
      emphasis.focus = scene.keyOf.get(state.get().at) ?? "";
    }
    painter.repaint();
  }

  /** What another pane selects is brought into view; what is in view stays where it is. */
  function revealSelected() {
    if (!scene || emphasis.selected.size === 0 || painter.size().width === 0) return;
    const size = painter.size();
    const camera = look();
    const inView = [...emphasis.selected].some((key) => {
      const node = scene?.byKey.get(key);
      const at = node && toScreen(camera, size, node);
      return at && at.x > 0 && at.y > 0 && at.x < size.width && at.y < size.height;
    });
    if (!inView) show(emphasis.focus ? [emphasis.focus] : [...emphasis.selected].slice(0, 1));
  }

  function find() {
    const hits = scene && search.value.trim() ? searchNodes(scene, search.value) : [];
    emphasis.found = new Set(hits);
    part(root, "found").textContent = search.value.trim() ? word("graph.found", { n: hits.length }) : "";
    painter.repaint();
    return hits;
  }

  /** @param {import("../graph/scene.js").SceneNode | null} node */
  function choose(node) {
    if (!node) return;
    if (node.node) state.set(selectNode(node.node));
    else state.set({ open: [...state.get().open, node.key], camera: null });
  }

  function show(/** @type {Iterable<string>} */ keys) {
    const box = scene && boxOfKeys(scene, keys);
    if (!box) return;
    const size = painter.size();
    const camera = look();
    const zoom = Math.max(camera.zoom, Math.min(0.8, fit(box, size).zoom));
    lookAt(reveal({ ...camera, zoom }, size, box));
  }

  function step(/** @type {"before" | "after" | "left" | "right"} */ direction) {
    if (!scene) return;
    const node = scene.byKey.get(walk(scene, emphasis.focus, direction));
    if (!node) return;
    // A group is only stood on; Enter opens it.
    if (node.node) choose(node);
    else state.set(NOTHING);
    emphasis.focus = node.key;
    show([node.key]);
    painter.repaint();
    announce(`${node.label} ${node.sub}`);
  }

  function zoomBy(/** @type {number} */ factor) {
    const size = painter.size();
    lookAt(zoomAt(look(), size, { x: size.width / 2, y: size.height / 2 }, factor));
  }

  function fitAll() {
    if (scene) lookAt(fit({ x: scene.width / 2, y: scene.height / 2, w: scene.width, h: scene.height }, painter.size()));
  }

  function center() {
    const keys = emphasis.selected.size ? emphasis.selected : (scene?.nodes ?? []).filter((n) => n.shown && n.status !== "same").map((n) => n.key);
    const box = scene && boxOfKeys(scene, keys);
    if (!box) return;
    const size = painter.size();
    const { zoom } = fit(box, size);
    lookAt({ x: box.x, y: box.y, zoom: Math.min(1, Math.max(zoom, READABLE_ZOOM)) });
  }

  /** Goes to the next node that the pass changed, from the top down. */
  function nextChange() {
    if (!scene) return;
    const marked = scene.nodes.filter((n) => n.shown && n.status !== "same").sort((a, b) => a.y - b.y || a.x - b.x);
    if (marked.length === 0) return announce(word("graph.no-change"));
    const now = marked.findIndex((n) => n.key === emphasis.focus);
    const next = marked[(now + 1) % marked.length];
    choose(next.node ? next : null);
    show([next.key]);
    announce(`${word(`mark.${next.status}`)}: ${next.label} ${next.sub}`);
  }

  function showTable(/** @type {boolean} */ on) {
    twin.hidden = !on;
    part(root, "table").setAttribute("aria-pressed", String(on));
  }

  const table = mountGraphTable(twin, state);
  const stop = together(
    mountPointer(canvas, {
      camera: look,
      size: painter.size,
      look: lookAt,
      click: (screen) => {
        const node = scene && nodeAt(scene, toDrawing(look(), painter.size(), screen), 3 / look().zoom);
        if (node) choose(node);
        else state.set(NOTHING);
      },
      hover: (screen) => {
        const node = scene && screen ? nodeAt(scene, toDrawing(look(), painter.size(), screen)) : null;
        canvas.toggleAttribute("data-hit", node !== null);
        if (emphasis.hover !== (node?.key ?? "")) {
          emphasis.hover = node?.key ?? "";
          painter.repaint();
        }
        tip.hidden = node === null;
        if (!node || !screen) return;
        fillTip(tip, node);
        const corner = toScreen(look(), painter.size(), { x: node.x + node.w / 2, y: node.y - node.h / 2 });
        const { width, height } = painter.size();
        tip.style.left = `${Math.max(4, Math.min(corner.x + 10, width - tip.offsetWidth - 6))}px`;
        tip.style.top = `${Math.max(4, Math.min(corner.y, height - tip.offsetHeight - 6))}px`;
      },
    }),
    listen(map, { pointerdown: aimMap, pointermove: (event) => event.buttons & 1 && aimMap(event) }),
    listen(part(root, "views"), {
      click: (event) => {
        const view = closest(event, "[data-view]")?.dataset.view;
        if (view) state.set({ view: /** @type {import("../url.js").View} */ (view) });
      },
    }),
    listen(search, {
      input: () => {
        const hits = find();
        if (hits.length) show([hits[0]]);
      },
      keydown: (event) => {
        if (event.key === "Enter") {
          const hits = find();
          const next = hits[(hits.indexOf(emphasis.focus) + 1) % hits.length];
          if (next) {
            choose(scene?.byKey.get(next) ?? null);
            show([next]);
          }
        } else if (event.key === "Escape") {
          search.value = "";
          find();
          canvas.focus();
        }
      },
    }),
    listen(part(root, "zoom-in"), { click: () => zoomBy(1.35) }),
    listen(part(root, "zoom-out"), { click: () => zoomBy(1 / 1.35) }),
    listen(part(root, "fit"), { click: fitAll }),
    listen(part(root, "center"), { click: center }),
    listen(part(root, "table"), { click: () => showTable(twin.hidden !== false) }),
    state.watch(["parts", "open"], () => void loadUnion()),
    state.watch(["graph", "before", "view"], rebuild),
    state.watch(["selection", "at"], () => {
      emphasize();
      revealSelected();
    }),
    state.watch(["camera"], painter.repaint),
    state.watch(["view"], ({ view }) => {
      for (const each of part(root, "views").querySelectorAll("button")) each.setAttribute("aria-pressed", String(each.dataset.view === view));
    }),
    table,
    () => layouter.stop(),
    painter.stop,
    mapPainter.stop,
    () => (request += 1),
  );

  function aimMap(/** @type {PointerEvent} */ event) {
    if (!scene) return;
    const box = map.getBoundingClientRect();
    const point = fromMap(scene, { width: map.clientWidth, height: map.clientHeight }, { x: event.clientX - box.left, y: event.clientY - box.top });
    lookAt({ ...look(), ...point });
  }

  return {
    stop,
    actions: {
      fit: fitAll,
      center,
      "next-change": nextChange,
      "zoom-in": () => zoomBy(1.35),
      "zoom-out": () => zoomBy(1 / 1.35),
      search: () => search.focus(),
      "focus-graph": () => canvas.focus(),
      table: () => showTable(twin.hidden !== false),
      "node-after": () => step("after"),
      "node-before": () => step("before"),
      "node-left": () => step("left"),
      "node-right": () => step("right"),
      "node-select": () => choose(scene?.byKey.get(emphasis.focus) ?? null),
    },
  };
}

/** @param {string} text said to screen readers */
function announce(text) {
  const place = document.getElementById("announce");
  if (place) place.textContent = text;
}

/** @param {Scene} scene */
function describe(scene) {
  const shown = scene.nodes.filter((node) => node.shown);
  const count = (/** @type {string} */ status) => shown.filter((node) => node.status === status).length;
  return word("graph.describe", { n: shown.length, added: count("added"), removed: count("removed"), changed: count("changed") });
}
