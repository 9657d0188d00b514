// The camera of the drawing: chosen by the user, else automatic.
import { zoomAt } from "../../graph/camera.js";
import {
  anchorOf,
  centeredLook,
  firstLook,
  lookAtNodes,
  markedNodes,
  seesAny,
  wholeLook,
} from "../../graph/framing.js";

/**
 * @typedef {import("../../graph/camera.js").Camera} Camera
 * @typedef {import("../../graph/scene.js").Scene} Scene
 * @typedef {{key: string, x: number, y: number}} Held a box with a fixed position on the screen
 */

/**
 * @param {import("../../state/page.js").PageState} state
 * @param {import("./canvas.js").Drawing} drawing
 * @param {() => import("../../graph/camera.js").Size} size of the canvas
 */
export function createFraming(state, drawing, size) {
  const { emphasis } = drawing;
  /** @type {Camera | null} the automatic camera */
  let auto = null;

  const look = (/** @type {Camera | null} */ camera) => camera && state.set({ camera });

  /** @returns {Camera} */
  function camera() {
    const { camera: chosen } = state.get();
    if (chosen) return chosen;
    if (!drawing.scene) return { x: 0, y: 0, zoom: 1 };
    // The canvas has no size before its layout.
    if (size().width === 0) return firstLook(drawing.scene, size(), emphasis.selected);
    return (auto ??= firstLook(drawing.scene, size(), emphasis.selected));
  }

  function show(/** @type {Iterable<string>} */ keys) {
    if (drawing.scene) look(lookAtNodes(drawing.scene, camera(), size(), keys));
  }

  return {
    camera,
    look,
    show,

    /** Bring a selection from another pane into view; do not move if the selection is visible. */
    revealSelected() {
      const { selected, focus } = emphasis;
      if (!drawing.scene || selected.size === 0 || size().width === 0) return;
      if (!seesAny(drawing.scene, camera(), size(), selected))
        show(focus ? [focus] : [...selected].slice(0, 1));
    },

    /** Follow the changes with minimal moves, until the user moves the drawing. */
    follow(/** @type {Scene} */ scene) {
      if (state.get().camera || !auto) return;
      const marked = markedNodes(scene).map((node) => node.key);
      if (marked.length && !seesAny(scene, auto, size(), marked)) auto = null;
    },

    /**
     * Call before nodes move: the held box, or else the anchor of the view, keeps its position on
     * the screen.
     * @param {Held | null} held
     * @returns {() => void} function to call after the nodes moved
     */
    keep(held) {
      const { scene } = drawing;
      const isLooking = scene && (emphasis.selected.size > 0 || state.get().camera);
      const looked = isLooking ? anchorOf(scene, camera(), [emphasis.focus, ...emphasis.selected]) : null;
      const was = scene && (held || looked) && camera();
      auto = null;
      return () => {
        const group = held && drawing.scene?.byKey.get(held.key);
        const node = looked && drawing.scene?.byKey.get(drawing.scene.keyOf.get(looked.id) ?? "");
        if (was && held && group)
          look({ ...was, x: was.x + group.x - held.x, y: was.y + group.y - group.h / 2 - held.y });
        else if (was && looked && node)
          look({ ...was, x: was.x + node.x - looked.x, y: was.y + node.y - looked.y });
      };
    },

    zoomBy(/** @type {number} */ factor) {
      const { width, height } = size();
      look(zoomAt(camera(), size(), { x: width / 2, y: height / 2 }, factor));
    },

    center() {
      if (!drawing.scene) return;
      const { selected } = emphasis;
      const keys = selected.size ? selected : markedNodes(drawing.scene).map((node) => node.key);
      look(centeredLook(drawing.scene, size(), keys));
    },

    whole: () => drawing.scene && look(wholeLook(drawing.scene, size())),
  };
}
