// Draws a memory plan while its buffers are placed one after another.
import { formatBytes } from "../../text/format.js";
import { word } from "../../text/words.js";
import { planScene } from "../plan_picture.js";

/**
 * @typedef {import("../../wire.js").LessonBuffer} LessonBuffer
 * @typedef {import("../../wire.js").PlaceFrame} PlaceFrame
 */

/** Milliseconds of a frame, which has two sentences. */
const PACE_MS = 2000;

/**
 * @param {import("../../wire.js").LessonMotion} motion
 * @param {LessonBuffer[]} buffers
 * @param {number} bound lower bound of the peak in bytes, 0 for none
 * @returns {import("./player.js").Moving}
 */
export function placesPicture({ places: frames, order }, buffers, bound) {
  const { picture, groups, showPeak } = planScene(buffers, bound);
  const name = word("moving.places-name", { n: frames.length, order: word(`moving.order-${order}`) });
  picture.setAttribute("aria-label", name);
  const at = new Map(frames.map(({ buffer }, i) => [buffer, i]));

  /** @param {number} frame */
  function draw(frame) {
    const { on, shares, peak_bytes: peak } = frames[frame];
    groups.forEach((group, i) => {
      const placed = at.get(i) ?? frames.length;
      const { name } = buffers[i];
      group.toggleAttribute("data-absent", placed > frame);
      group.toggleAttribute("data-current", placed === frame);
      group.toggleAttribute("data-under", placed < frame && on.includes(name));
      group.toggleAttribute("data-shares", placed < frame && shares.includes(name));
    });
    showPeak(peak);
  }

  return {
    name,
    n: frames.length,
    paceMs: PACE_MS,
    picture,
    legend: [],
    draw,
    text: (frame) => placeText(frames[frame], buffers, order),
  };
}

/**
 * @param {PlaceFrame} frame
 * @param {LessonBuffer[]} buffers
 * @param {string} order
 */
export function placeText({ buffer, on, shares, peak_bytes: peak }, buffers, order) {
  const { name, size, offset } = buffers[buffer];
  const named = (/** @type {string[]} */ names) => names.join(", ");
  const place = word("moving.place", { name, size: formatBytes(size), offset: offset === 0 ? "0" : formatBytes(offset) });
  const parts = [
    place,
    on.length > 0 && word("moving.on", { names: named(on) }),
    shares.length > 0 && word(order === "run" ? "moving.reuses" : "moving.shares", { names: named(shares) }),
  ].filter(Boolean);
  return `${parts.join(", ")}. ${word("moving.peak", { peak: formatBytes(peak) })}`;
}
