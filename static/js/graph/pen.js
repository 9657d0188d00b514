// Drawing primitives shared by all modules of the drawing.

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {number} h
 * @param {number} r
 */
export function outline(context, x, y, w, h, r) {
  context.beginPath();
  context.roundRect(x, y, w, h, r);
}

/** Maximum number of cached clipped texts; texts repeat within and across frames. */
const MOST_CLIPPED = 20_000;
/** By font, then by width and text. @type {Map<string, Map<string, string>>} */
const clipped = new Map();

/**
 * Omit the last items of a list, then the whole list, or the middle of another text, until the text fits.
 * Names differ most at their ends.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} room
 */
export function clip(context, text, room) {
  const { font } = context;
  let known = clipped.get(font);
  if (!known) clipped.set(font, (known = new Map()));
  const key = `${room} ${text}`;
  let found = known.get(key);
  if (found === undefined) {
    if (known.size >= MOST_CLIPPED) known.clear();
    known.set(key, (found = shortened(context, text, room)));
  }
  return found;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} room
 */
function shortened(context, text, room) {
  const widthOf = (/** @type {string} */ part) => context.measureText(part).width;
  const width = widthOf(text);
  if (width <= room) return text;
  const items = text.split(", ");
  for (let n = items.length - 1; n > 0; n -= 1) {
    const start = `${items.slice(0, n).join(", ")}, …`;
    if (widthOf(start) <= room) return start;
  }
  const [title, list] = text.split(": ");
  if (list !== undefined && widthOf(title) <= room) return title;
  const withKept = (/** @type {number} */ n) =>
    `${text.slice(0, Math.ceil(n / 2))}…${text.slice(text.length - Math.floor(n / 2))}`;
  // Letters differ in width, so the estimate may be too short or too long.
  let keep = Math.max(2, Math.floor((text.length * room) / width) - 1);
  while (keep > 2 && widthOf(withKept(keep)) > room) keep -= 1;
  return withKept(keep);
}

/** Marks of the states of nodes, legible without colour. */
export const MARKERS = /** @type {const} */ ({
  added: "+",
  removed: "−",
  changed: "≠",
  refined: "#",
});

/** The states that are marked, in the order of their importance. */
export const MARKS = /** @type {(keyof typeof MARKERS)[]} */ (Object.keys(MARKERS));

/**
 * Load the fonts of a drawing and of its marks in advance; loading them in the first frame takes
 * 10 ms.
 * @param {string} family
 */
export function warmFonts(family) {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return;
  for (const weight of [400, 600, 700]) {
    context.font = `${weight} 11px ${family}`;
    context.fillText(`a×…▾${Object.values(MARKERS).join("")}`, 0, 11);
  }
}
