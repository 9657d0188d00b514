// Pointer input on the drawing: drag to pan, wheel or two fingers to zoom, click to select.
import { isFramed, listen } from "../elements/dom.js";
import { zoomAt } from "./camera.js";

/**
 * @typedef {import("./camera.js").Camera} Camera
 * @typedef {import("./camera.js").Size} Size
 *
 * @typedef {object} Hooks
 * @property {() => Camera} camera
 * @property {() => Size} size
 * @property {(camera: Camera) => void} look
 * @property {(screen: {x: number, y: number}) => void} click
 * @property {(screen: {x: number, y: number} | null) => void} hover
 */

/** Distance in pixels below which a press is a click. */
const CLICK_PX = 4;

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Hooks} hooks
 * @returns {() => void}
 */
export function mountPointer(canvas, hooks) {
  /** @type {Map<number, {x: number, y: number}>} */
  const down = new Map();
  let moved = 0;

  const at = (/** @type {MouseEvent} */ event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  function onMove(/** @type {PointerEvent} */ event) {
    const here = at(event);
    const last = down.get(event.pointerId);
    if (!last) return hooks.hover(here);
    const camera = hooks.camera();
    moved += Math.hypot(here.x - last.x, here.y - last.y);
    if (down.size === 2) pinch(event.pointerId, here);
    else if (moved > CLICK_PX) {
      canvas.toggleAttribute("data-drag", true);
      hooks.look({
        ...camera,
        x: camera.x - (here.x - last.x) / camera.zoom,
        y: camera.y - (here.y - last.y) / camera.zoom,
      });
    }
    down.set(event.pointerId, here);
  }

  function pinch(/** @type {number} */ id, /** @type {{x: number, y: number}} */ here) {
    const last = /** @type {{x: number, y: number}} */ (down.get(id));
    const other = [...down].find(([each]) => each !== id)?.[1];
    if (!other) return;
    const was = Math.hypot(last.x - other.x, last.y - other.y);
    const is = Math.hypot(here.x - other.x, here.y - other.y);
    const middle = { x: (here.x + other.x) / 2, y: (here.y + other.y) / 2 };
    if (was > 0) hooks.look(zoomAt(hooks.camera(), hooks.size(), middle, is / was));
  }

  function onUp(/** @type {PointerEvent} */ event) {
    if (!down.delete(event.pointerId)) return;
    canvas.removeAttribute("data-drag");
    if (moved <= CLICK_PX && event.type === "pointerup") hooks.click(at(event));
  }

  return listen(
    canvas,
    {
      pointerdown: (event) => {
        if (event.button !== 0) return;
        canvas.setPointerCapture(event.pointerId);
        if (down.size === 0) moved = 0;
        down.set(event.pointerId, at(event));
      },
      pointermove: onMove,
      pointerup: onUp,
      pointercancel: onUp,
      pointerleave: () => hooks.hover(null),
      wheel: (event) => {
        // In a frame, the wheel scrolls the page around it until the drawing has the focus.
        if (isFramed() && !event.ctrlKey && document.activeElement !== canvas) return;
        event.preventDefault();
        // Convert lines and pages to pixels; a pinch on a trackpad sets ctrlKey.
        const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
        const factor = Math.exp(-event.deltaY * unit * (event.ctrlKey ? 0.01 : 0.0016));
        hooks.look(
          zoomAt(hooks.camera(), hooks.size(), at(event), Math.min(2.5, Math.max(0.4, factor))),
        );
      },
    },
    { passive: false },
  );
}
