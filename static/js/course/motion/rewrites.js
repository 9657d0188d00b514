// Draws a graph while passes rewrite it: the nodes that a rewrite matches, then the graph after it. No node moves.
import { word } from "../../text/words.js";
import { graphScene } from "../picture.js";

/** @typedef {import("../../wire.js").RewriteFrame} RewriteFrame */

/** Milliseconds of a frame, which has a sentence with a reason. */
const PACE_MS = 2200;

/**
 * @param {import("../../wire.js").LessonMotion} motion
 * @returns {Promise<import("./player.js").Moving>}
 */
export async function rewritesPicture({ drawing, lines, rewrites: frames }) {
  if (!drawing) throw new Error("the moving picture has no drawing");
  const { picture, boxes, edges } = await graphScene(drawing);
  const n = frames[frames.length - 1].step;
  const name = word("moving.rewrites-name", { n });
  picture.setAttribute("aria-label", name);
  const keys = drawing.nodes.map(({ key }) => key);
  const ofLine = lines.map(([from, to]) => edges.get(`${from} ${to}`) ?? []);

  /** @param {number} frame */
  function draw(frame) {
    const { boxes: visible, marked, lines: shown, phase } = frames[frame];
    const [isVisible, isMarked, isShown] = [new Set(visible), new Set(marked), new Set(shown)];
    keys.forEach((key, i) => {
      const box = boxes.get(key);
      box?.toggleAttribute("data-absent", !isVisible.has(i));
      box?.toggleAttribute("data-matched", phase === "match" && isMarked.has(i));
      box?.toggleAttribute("data-made", phase === "replace" && isMarked.has(i));
    });
    ofLine.forEach((parts, i) => {
      for (const each of parts) each.toggleAttribute("data-absent", !isShown.has(i));
    });
  }

  return {
    name,
    n: frames.length,
    paceMs: PACE_MS,
    picture,
    legend: [["rewrite-matched", word("moving.legend-matched")], ["rewrite-made", word("moving.legend-made")]],
    draw,
    text: (frame) => rewriteText(frames[frame], n),
  };
}

/** @param {RewriteFrame} frame @param {number} n number of rewrites */
export function rewriteText({ phase, step, rule, at, because, took, made }, n) {
  const named = (/** @type {string[]} */ names) => names.join(", ");
  if (phase === "start") return word("moving.start", { n });
  const values = { step, steps: n, rule, at, because };
  if (phase === "match") return word("moving.match", { ...values, took: named(took) || at });
  const gone = took.filter((each) => !made.includes(each));
  if (!made.length) return word("moving.removed", { ...values, took: named(gone) || at });
  if (!gone.length) return word("moving.changed", { ...values, made: named(made) });
  return word("moving.replaced", { ...values, took: named(gone), made: named(made) });
}
