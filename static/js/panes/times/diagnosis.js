// The cause of a kernel's time with its evidence, and buttons for the actions that address it.
import { el } from "../../elements/dom.js";
import { formatPercent, formatSeconds, unbroken } from "../../text/format.js";
import { selectKernel } from "../../state/selection.js";
import { word } from "../../text/words.js";

/**
 * @typedef {import("../../wire.js").Kernel} Kernel
 * @typedef {import("../../wire.js").KernelTimes} KernelTimes
 * @typedef {import("../../wire.js").NextAction} NextAction
 * @typedef {import("../../wire.js").Result} Result
 * @typedef {Partial<import("../../state/url.js").Place>} Move
 */

/** The view of each action; an action without a view changes the options of the start screen. */
const VIEWS = {
  fuse: (/** @type {Result} */ result) => declinedSteps(result, "fuse"),
  layout: (/** @type {Result} */ result) => declinedSteps(result, "assign_layout"),
  schedule: () => ({ pane: "schedule" }),
  tune: () => ({ pane: "tuning" }),
  assembly: () => ({ pane: "asm" }),
  reference: () => ({ pane: "stack" }),
  again: () => ({ pane: "profile" }),
  batch: () => null,
  threads: () => null,
  precision: () => null,
};

/**
 * Return the move to the declined rewrites of the last pass with this name.
 * @param {Result} result
 * @param {string} pass
 * @returns {Move}
 */
function declinedSteps(result, pass) {
  const stage = result.stages.findLast((each) => each.name === pass);
  return { pane: "steps", outcome: "declined", ...(stage ? { stage: stage.stage } : {}) };
}

/**
 * Return the state change that shows the view of an action; null for an action on the start screen.
 * @param {NextAction["action"]} action
 * @param {Result} result
 * @returns {Move | null}
 */
export function viewOf(action, result) {
  return VIEWS[action](result);
}

/** Press the header's button that leads to the start screen and keeps the way back. */
function pressChange() {
  document.querySelector("header [data-part=change]")?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
}

/**
 * Return the diagnosis of a kernel.
 * @param {import("../../state/page.js").PageState} state
 * @param {Result} result
 * @param {{kernel: Kernel, times: KernelTimes}} row
 */
export function diagnosisOf(state, result, { kernel, times }) {
  const { title, words, evidence, actions } = times.diagnosis;
  const button = (/** @type {NextAction} */ next) => {
    const move = viewOf(next.action, result);
    const press = () => (move ? state.set({ ...selectKernel(kernel), ...move }) : pressChange());
    return el("li", {}, el("button", { class: "link-button", type: "button", "data-action": next.action, onclick: press }, next.words));
  };
  return [
    el("h3", { class: "measured-title" }, word("diagnosis.title", { name: kernel.name, time: formatSeconds(times.median_s), share: formatPercent(times.share) })),
    el("p", {}, el("strong", {}, word("diagnosis.cause", { title })), " ", unbroken(evidence), " ", words),
    el("ul", { class: "diagnosis-actions", "aria-label": word("diagnosis.actions") }, ...actions.map(button)),
  ];
}
