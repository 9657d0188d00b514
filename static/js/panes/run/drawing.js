// A field for drawing with the pointer, or with the keys: arrows move the pen, Space draws.
import { listen } from "../../elements/dom.js";
import { arrowOf } from "../graph/pointing.js";
import { averaged, inkBounds } from "../../arrays/pixels.js";

/** Width of the pen, as a share of the field's side: about two of eight pixels, as in the digits data. */
const PEN = 0.15;
/** Distance that an arrow key moves the pen, as a share of the field's side. */
const STEP = 0.05;
const MOVES = { left: [-1, 0], right: [1, 0], up: [0, -1], down: [0, 1] };

/**
 * @param {HTMLCanvasElement} canvas a square
 * @param {() => void} changed
 * @returns {{clear: () => void, pixels: (grid: {width: number, height: number}) => Uint8ClampedArray | null}}
 *   `pixels` returns null without ink
 */
export function mountDrawing(canvas, changed) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
  const side = canvas.width;
  /** @type {{x: number, y: number} | null} end of the current line */
  let last = null;
  let pen = { x: side / 2, y: side / 2 };

  const at = (/** @type {PointerEvent} */ { clientX, clientY }) => {
    const box = canvas.getBoundingClientRect();
    return { x: ((clientX - box.left) / box.width) * side, y: ((clientY - box.top) / box.height) * side };
  };

  function draw(/** @type {{x: number, y: number}} */ to, from = to) {
    context.strokeStyle = "white";
    context.lineWidth = PEN * side;
    context.lineCap = context.lineJoin = "round";
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.lineTo(to.x + 0.01, to.y);
    context.stroke();
    pen = to;
    changed();
  }

  function clear() {
    context.fillStyle = "black";
    context.fillRect(0, 0, side, side);
    changed();
  }

  function press(/** @type {KeyboardEvent} */ event) {
    const arrow = arrowOf(event);
    if (event.key === " ") draw(pen);
    if (arrow) {
      const [dx, dy] = MOVES[arrow];
      const within = (/** @type {number} */ value) => Math.min(side, Math.max(0, value));
      const to = { x: within(pen.x + dx * STEP * side), y: within(pen.y + dy * STEP * side) };
      // Without Shift, an arrow only moves the pen.
      if (event.shiftKey) draw(to, pen);
      else pen = to;
    }
    if (arrow || event.key === " ") event.preventDefault();
  }

  clear();
  listen(canvas, {
    pointerdown: (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      last = at(event);
      draw(last);
    },
    pointermove: (event) => {
      if (!last) return;
      const to = at(event);
      draw(to, last);
      last = to;
    },
    pointerup: () => (last = null),
    pointercancel: () => (last = null),
    keydown: press,
  });
  return {
    clear,
    pixels(grid) {
      const { data } = context.getImageData(0, 0, side, side);
      const bounds = inkBounds(data, side);
      return bounds && averaged(data, side, bounds, grid);
    },
  };
}
