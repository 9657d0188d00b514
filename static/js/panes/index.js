// The panes next to the graph, in tab order; a `group` is a row of tabs.
import { keptFindings } from "../jobs/beside.js";
import { codePane } from "./kernels/code.js";
import { mountCompare } from "./compare/compare.js";
import { mountDevices } from "./devices/devices.js";
import { mountKernels } from "./kernels/kernels.js";
import { mountMemory } from "./memory.js";
import { mountNode } from "./node.js";
import { mountNumerics } from "./numerics/numerics.js";
import { mountProfile } from "./times/profile.js";
import { mountRoofline } from "./times/roofline.js";
import { mountRun } from "./run/run.js";
import { mountStack } from "./shell/stack.js";
import { mountSteps } from "./passes/steps.js";
import { mountTargets } from "./kernels/targets.js";
import { mountText } from "./passes/text.js";
import { mountTiming } from "./times/timing.js";
import { mountTuning } from "./tuning/tuning.js";

/**
 * @typedef {import("../state/page.js").PageState} PageState
 * @typedef {{id: string, group: string}} Named `pane.ID`, `pane-title.ID` (a definition) and `pane-group.GROUP` are words
 *   (templates/words/panes.html)
 * @typedef {Named & {mount: (root: HTMLElement, state: PageState) => () => void}} Reading a pane that shows results of a job
 * @typedef {Named & {works: (root: HTMLElement, state: PageState, work: import("../server/work.js").Work) => () => void}} Working
 *   a pane that only starts jobs; absent in read-only views
 * @typedef {Named & {finds: (root: HTMLElement, state: PageState, findings: import("../jobs/beside.js").Findings) => () => void, kind: string}} Finding
 *   a pane that shows findings of a job of this kind; in read-only views, only if such a job is stored
 * @typedef {Reading | Working | Finding} Pane
 */

/** @type {readonly Pane[]} */
export const PANES = [
  { id: "steps", group: "pass", mount: mountSteps },
  { id: "text", group: "pass", mount: mountText },
  { id: "node", group: "pass", mount: mountNode },
  { id: "numerics", group: "pass", finds: mountNumerics, kind: "check" },
  { id: "stack", group: "program", mount: mountStack },
  { id: "memory", group: "program", mount: mountMemory },
  { id: "kernels", group: "program", mount: mountKernels },
  { id: "run", group: "program", works: mountRun },
  { id: "devices", group: "program", finds: mountDevices, kind: "place" },
  { id: "timing", group: "time", mount: mountTiming },
  { id: "profile", group: "time", mount: mountProfile },
  { id: "roofline", group: "time", mount: mountRoofline },
  { id: "tuning", group: "time", finds: mountTuning, kind: "tune" },
  { id: "computation", group: "code", mount: codePane("computation") },
  { id: "schedule", group: "code", mount: codePane("schedule") },
  { id: "loops", group: "code", mount: codePane("loops") },
  { id: "llvm", group: "code", mount: codePane("llvm") },
  { id: "asm", group: "code", mount: codePane("asm") },
  { id: "targets", group: "code", finds: mountTargets, kind: "targets" },
  { id: "compare", group: "compare", works: mountCompare },
];

/**
 * Return the panes of a page; in read-only views, only panes that start no jobs and panes with stored findings.
 * @param {import("../state/page.js").Page} page
 */
export const panesOf = ({ work, beside }) =>
  PANES.filter(
    (pane) =>
      work !== null ||
      "mount" in pane ||
      ("finds" in pane && beside.some(({ kind }) => kind === pane.kind)),
  );

/**
 * @param {Pane} pane a pane of the page
 * @param {HTMLElement} root
 * @param {PageState} state
 * @returns {() => void}
 */
export function mountPane(pane, root, state) {
  if ("mount" in pane) return pane.mount(root, state);
  const { work, beside } = state.get();
  if ("finds" in pane) return pane.finds(root, state, work ?? keptFindings(beside));
  return work ? pane.works(root, state, work) : () => {};
}
