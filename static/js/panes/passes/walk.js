// The walk: passes on the left, the graph in the middle, panes on the right.
import { clone, listen, part } from "../../elements/dom.js";
import { NOTHING, selectValues } from "../../state/selection.js";
import { nextStage } from "../../results/stages.js";
import { together } from "../../state/state.js";
import { inOwnTask } from "../../elements/scheduling.js";
import { secondOf } from "../../state/url.js";
import { mountGraph } from "../graph/graph.js";
import { mountPassList } from "./pass_list.js";
import { mountTabs } from "../shell/tabs.js";
import { mountTour } from "../tour/tour.js";

export { warmFonts } from "../../graph/pen.js";

/** @typedef {import("../../state/page.js").PageState} PageState */

/** The same page size as in the pane of steps, to share cached answers. */
const STEPS_ASKED = 5000;

/**
 * @param {HTMLElement} root
 * @param {PageState} state
 * @param {import("../../graph/layout.js").Layouter} layouter
 * @returns {{stop: () => void, actions: Record<string, () => boolean | void>}}
 */
export function mountWalk(root, state, layouter) {
  root.replaceChildren(clone("walk"));
  const split = part(root, "split");
  const graph = mountGraph(part(root, "graph"), state, layouter);
  const tabs = mountTabs(part(root, "side"), state);
  const tour = mountTour(part(root, "tour"), state, part(root, "side"));

  const go = (/** @type {1 | -1} */ direction, /** @type {boolean} */ all) => {
    const { result, stage } = state.get();
    if (result) state.set({ stage: nextStage(result.stages, stage, direction, all) });
  };
  const end = (/** @type {boolean} */ last) => {
    const { result } = state.get();
    if (result) state.set({ stage: last ? result.stages.length - 1 : 0 });
  };
  return {
    stop: together(
      graph.stop,
      tabs.stop,
      tour.stop,
      inOwnTask(() => mountPassList(part(root, "passes"), state)),
      mountSplit(split, part(root, "walk")),
    ),
    actions: {
      ...graph.actions,
      ...tabs.actions,
      ...tour.actions,
      "next-pass": () => go(1, false),
      "previous-pass": () => go(-1, false),
      "next-any-pass": () => go(1, true),
      "previous-any-pass": () => go(-1, true),
      "filter-passes": () => part(root, "filter").focus(),
      "next-step": () => void goStep(state, 1),
      "previous-step": () => void goStep(state, -1),
      "first-pass": () => end(false),
      "last-pass": () => end(true),
      "view-before": () => state.set({ view: "before" }),
      "view-diff": () => state.set({ view: "diff" }),
      "view-after": () => state.set({ view: "after" }),
      clear: () => state.set(NOTHING),
    },
  };
}

/**
 * Open the next or previous applied rewrite of the stage's pass; if none is open, the first or the last rewrite.
 * @param {PageState} state
 * @param {1 | -1} direction
 */
async function goStep(state, direction) {
  const { parts, stage, step, graph, before } = state.get();
  const found = await parts?.steps(stage, 0, STEPS_ASKED).catch(() => null);
  if (!found || state.get().stage !== stage) return;
  const applied = found.steps.flatMap((each, i) => (each.outcome === "applied" ? [i] : []));
  const open = secondOf(step, stage);
  const next =
    direction > 0 ? applied.find((i) => i > open) : applied.filter((i) => open < 0 || i < open).pop();
  if (next === undefined) return;
  const { made, at, took } = found.steps[next];
  state.set({
    pane: "steps",
    step: `${stage}:${next}`,
    ...selectValues([graph, before], [...made, at, ...took]),
  });
}

/**
 * Mount the bar between graph and panes; dragging and arrow keys move it.
 * @param {HTMLElement} split
 * @param {HTMLElement} walk
 */
function mountSplit(split, walk) {
  const set = (/** @type {number} */ percent) => {
    const width = Math.min(75, Math.max(20, percent));
    walk.style.setProperty("--side-width", `${width}%`);
    split.setAttribute("aria-valuenow", String(Math.round(width)));
    return width;
  };
  const keep = (/** @type {number} */ percent) =>
    localStorage.setItem("compilarium.side-width", set(percent).toFixed(1));
  const now = () => Number(split.getAttribute("aria-valuenow"));
  set(Number(localStorage.getItem("compilarium.side-width")) || 40);
  return listen(split, {
    pointerdown: (event) => split.setPointerCapture(event.pointerId),
    pointermove: (event) => {
      if (!split.hasPointerCapture(event.pointerId)) return;
      const box = walk.getBoundingClientRect();
      keep((100 * (box.right - event.clientX)) / box.width);
    },
    keydown: (event) => {
      const by = { ArrowLeft: 3, ArrowRight: -3 }[/** @type {string} */ (event.key)];
      if (!by) return;
      event.preventDefault();
      keep(now() + by);
    },
    dblclick: () => keep(40),
  });
}

