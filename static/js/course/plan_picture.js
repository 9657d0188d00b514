// Draws a memory plan: buffers as rectangles over steps and offsets. Alone, they appear in the order of their start.
import { word } from "../text/words.js";
import { svg } from "./svg.js";

/** @typedef {import("../wire.js").LessonBuffer} LessonBuffer */

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [520, 260, 8, 22];
const HUES = 8;
/** Seconds between the appearances of two buffers. */
const PACE = 0.18;

/**
 * @param {LessonBuffer[]} buffers
 * @param {number} bound lower bound of the peak in bytes, 0 for none
 * @returns {SVGSVGElement}
 */
export function planPicture(buffers, bound) {
  const { picture, groups } = planScene(buffers, bound);
  picture.classList.add("plan-appears");
  inOrder(buffers).forEach((at, i) => {
    groups[at].style.animationDelay = `${i * PACE}s`;
  });
  return picture;
}

/**
 * Draw a plan, and return its buffers in the order of the plan, and a function that marks a peak in bytes.
 * @param {LessonBuffer[]} buffers
 * @param {number} bound lower bound of the peak in bytes, 0 for none
 * @returns {{picture: SVGSVGElement, groups: SVGGElement[], showPeak: (bytes: number) => void}}
 */
export function planScene(buffers, bound) {
  const peak = Math.max(...buffers.map(({ offset, size }) => offset + size), bound, 1);
  const end = Math.max(...buffers.map((each) => each.end), 1);
  const x = (/** @type {number} */ step) => LEFT + (step / end) * (WIDTH - 2 * LEFT);
  const y = (/** @type {number} */ offset) => (HEIGHT - BOTTOM) * (1 - offset / peak) + 4;
  const picture = svg("svg", {
    class: "picture plan-picture",
    role: "img",
    "aria-label": word("lab.plan-picture", { n: buffers.length }),
    viewBox: `0 0 ${WIDTH} ${HEIGHT + 8}`,
    width: WIDTH,
    height: HEIGHT + 8,
  });
  /** @type {SVGGElement[]} */
  const groups = [];
  inOrder(buffers).forEach((at, i) => {
    const each = buffers[at];
    const [left, top] = [x(each.start), y(each.offset + each.size)];
    const [width, height] = [x(each.end) - left, y(each.offset) - top];
    const group = svg("g", { class: "plan-buffer", "data-hue": i % HUES });
    group.append(
      svg("title", {}, `${each.name}: ${each.size} B`),
      svg("rect", { x: left + 0.5, y: top + 0.5, width: Math.max(width - 1, 1), height: Math.max(height - 1, 1), rx: 2 }),
    );
    if (height >= 13 && width >= 8 * each.name.length)
      group.append(svg("text", { x: left + width / 2, y: top + height / 2 + 4, class: "picture-detail" }, each.name));
    groups[at] = group;
    picture.append(group);
  });
  const reached = svg("path", { class: "plan-peak" });
  picture.append(reached);
  if (bound > 0)
    picture.append(
      svg("path", { class: "plan-bound", d: `M${LEFT} ${y(bound)} H${WIDTH - LEFT}` }),
      svg("text", { x: WIDTH - LEFT, y: y(bound) - 4, class: "plan-words" }, word("lab.plan-bound")),
    );
  picture.append(svg("text", { x: WIDTH - LEFT, y: HEIGHT + 2, class: "plan-words" }, word("lab.plan-steps")));
  const showPeak = (/** @type {number} */ bytes) => reached.setAttribute("d", `M${LEFT} ${y(bytes)} H${WIDTH - LEFT}`);
  return { picture, groups, showPeak };
}

/** Return the positions of buffers in the order of their start. @param {LessonBuffer[]} buffers */
function inOrder(buffers) {
  const [of, positions] = [(/** @type {number} */ i) => buffers[i], buffers.map((_, i) => i)];
  return positions.sort((a, b) => of(a).start - of(b).start || of(a).offset - of(b).offset);
}
