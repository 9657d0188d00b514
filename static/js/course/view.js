// The view block: a pane of the playground on a graph of the lesson, live, and the link that opens it there.
import { el } from "../elements/dom.js";
import { word } from "../text/words.js";
import { createViewFrame, emptyPlace } from "./view_frame.js";
import { playgroundAddress, viewAddress } from "./view_link.js";

/**
 * @typedef {import("./lesson.js").BlockData} BlockData
 * @typedef {import("./labs.js").Named} Named
 * @typedef {NonNullable<BlockData["view"]>} View
 */

/** @param {BlockData} block */
export function createView({ view, is_sample: isSample }) {
  /** What is shown: the address of the link, "" for the words about a graph that is not ready. @type {string | null} */
  let shown = null;
  /** @type {ReturnType<typeof createViewFrame> | null} */
  let frame = null;

  return {
    /**
     * Show the block with the results so far; results that change nothing leave the frame alone.
     * @param {HTMLElement} body
     * @param {Named} named
     * @param {boolean} isOver whether the lesson has run, so that a compilation disturbs no measurement
     * @returns {boolean} whether the graph is ready
     */
    show(body, named, isOver) {
      if (!view) return true;
      const wanted = wantedOf(view, isSample === true, named);
      const href = wanted ? playgroundAddress(wanted) : "";
      if (href !== shown) {
        shown = href;
        frame?.stop();
        frame = null;
        const name = nameOf(view, isSample === true);
        const says = el("p", {}, view.words || word("view.says", { pane: view.pane, of: name, pipeline: view.pipeline }));
        const link = el("a", { class: "button", href, target: "_blank", rel: "opener" }, word("view.open"));
        const address = wanted ? viewAddress(wanted) : "";
        const title = word("view.title", { pane: view.pane, of: name });
        if (address) frame = createViewFrame(address, title, (moved) => (link.href = moved));
        const place = frame?.place ?? (wanted ? null : emptyPlace("view.waiting"));
        body.replaceChildren(says, ...(place ? [place] : []), el("p", { class: "view-link" }, wanted && link));
      }
      frame?.allow(isOver);
      return wanted !== null;
    },
  };
}

/** @param {View} view @param {boolean} isSample */
const nameOf = (view, isSample) => (isSample ? view.of.replace(/^sample:/, "") : view.of);

/**
 * Return the state of a view; null if its graph is not ready.
 * @param {View} view
 * @param {boolean} isSample
 * @param {Named} named
 * @returns {import("./view_link.js").Wanted | null}
 */
function wantedOf(view, isSample, named) {
  const { pipeline, pane, select, step: stage } = view;
  const name = nameOf(view, isSample);
  const texts = isSample ? {} : (named(name)?.texts ?? {});
  const graph = texts.after ?? texts.graph ?? "";
  if (!isSample && !graph) return null;
  return { ...(isSample ? { sample: name } : { graph }), pipeline, pane, select, stage };
}
