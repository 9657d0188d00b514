// The moving picture of a block, or the reason why it is left out.
import { el } from "../../elements/dom.js";
import { word } from "../../text/words.js";
import { placesPicture } from "./places.js";
import { player } from "./player.js";
import { rewritesPicture } from "./rewrites.js";
import { walkPicture } from "./walk.js";

/**
 * Return the moving picture of a block; [] if its author chose none.
 * @param {import("../../wire.js").LessonBlock} found
 * @returns {HTMLElement[]}
 */
export function motionContent({ motion, buffers, amounts }) {
  if (!motion) return [];
  if (motion.omitted) return [el("p", { class: "lab-note" }, word("moving.omitted", { because: motion.omitted }))];
  if (motion.kind === "walk") return [player(walkPicture(motion))];
  if (motion.kind === "places") return [player(placesPicture(motion, buffers, amounts.lower_bound_bytes?.value ?? 0))];
  const place = el("div", { class: "player-place" });
  rewritesPicture(motion).then(
    (moving) => place.replaceChildren(player(moving)),
    () => place.remove(),
  );
  return [place];
}
