// Paints a flame chart: a box for each part of the run, in the colour of its longest kernel.

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{width: number, height: number}} size
 * @param {import("./flame_map.js").FlameBox[]} boxes
 * @param {import("../elements/theme.js").Colors} colors
 * @param {{focus: string, isSelected: (flame: import("./flame_map.js").Flame) => boolean, textOf: (flame: import("./flame_map.js").Flame) => string}} show
 */
export function drawFlame(context, size, boxes, colors, { focus, isSelected, textOf }) {
  context.clearRect(0, 0, size.width, size.height);
  context.font = `11px ${colors.sans}`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const { flame, x, y, w, h, above } of boxes) {
    const chosen = flame.kind !== "run" && isSelected(flame);
    const family = colors.family[flame.family] ?? colors.family.opaque;
    const plain = flame.kind === "run" || above;
    context.fillStyle = chosen ? colors.selected : plain ? colors.surface : family.fill;
    context.fillRect(x, y, Math.max(w - 1, 0.75), h);
    if (w > 3) {
      context.lineWidth = chosen ? 2 : 1;
      context.strokeStyle = chosen ? colors.accent : plain ? colors.lineStrong : family.stroke;
      const inset = context.lineWidth / 2;
      context.strokeRect(x + inset, y + inset, w - 1 - 2 * inset, h - 2 * inset);
    }
    if (!plain && flame.kind === "kernel" && w > 3) {
      context.fillStyle = family.stroke;
      context.fillRect(x, y, 3, h);
    }
    if (flame.key === focus && focus !== "") {
      context.strokeStyle = colors.ink;
      context.lineWidth = 2.5;
      context.strokeRect(x + 1.25, y + 1.25, Math.max(w - 3.5, 1), h - 2.5);
    }
    if (w > 30) {
      context.fillStyle = above ? colors.muted : colors.ink;
      context.fillText(fitted(context, textOf(flame), w - 14), x + 7, y + h / 2 + 0.5);
    }
  }
}

/**
 * Truncate a text to the available width.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} room
 */
function fitted(context, text, room) {
  const width = context.measureText(text).width;
  if (width <= room) return text;
  return `${text.slice(0, Math.max(1, Math.floor((text.length * room) / width) - 1))}…`;
}
