// Helpers for canvases: pointer positions, arrow keys, tooltips.

const BESIDE = { x: 12, y: 18 };
const MARGIN = 4;

const ARROWS = /** @type {const} */ ({
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
});

/** @typedef {typeof ARROWS[keyof typeof ARROWS]} Direction */

/**
 * Return the direction of an arrow key; undefined for other keys.
 * @param {KeyboardEvent} event
 * @returns {Direction | undefined}
 */
export function arrowOf({ key }) {
  return ARROWS[/** @type {keyof typeof ARROWS} */ (key)];
}

/**
 * Return the pointer's position on a picture, in pixels of the picture.
 * @param {HTMLElement} picture
 * @param {MouseEvent} event
 */
export function pointOn(picture, { clientX, clientY }) {
  const box = picture.getBoundingClientRect();
  return { x: clientX - box.left, y: clientY - box.top };
}

/**
 * Show a tooltip below a point of a box, or above the point if the space below is too small, inside the
 * right edge of the box. An empty text hides the tooltip.
 * @param {HTMLElement} tip
 * @param {HTMLElement} box
 * @param {{x: number, y: number}} at
 * @param {string} text
 */
export function showTip(tip, box, at, text) {
  tip.hidden = text === "";
  if (tip.hidden) return;
  tip.textContent = text;
  const most = Math.max(0, box.clientWidth - tip.offsetWidth - MARGIN);
  tip.style.left = `${Math.min(at.x + BESIDE.x, most)}px`;
  const above = at.y - tip.offsetHeight - MARGIN;
  const below = at.y + BESIDE.y;
  const fits = below + tip.offsetHeight <= box.clientHeight || above < 0;
  tip.style.top = `${fits ? below : above}px`;
}
