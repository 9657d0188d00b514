// The panes beside the graph, in the order of their tabs; a `group` is a row of tabs.
import { codePane } from "./code.js";
import { mountCompare } from "./compare.js";
import { mountDevices } from "./devices.js";
import { mountKernels } from "./kernels.js";
import { mountMemory } from "./memory.js";
import { mountNode } from "./node.js";
import { mountNumerics } from "./numerics.js";
import { mountProfile } from "./profile.js";
import { mountRoofline } from "./roofline.js";
import { mountStack } from "./stack.js";
import { mountSteps } from "./steps.js";
import { mountTargets } from "./targets.js";
import { mountText } from "./text.js";
import { mountTiming } from "./timing.js";
import { mountTuning } from "./tuning.js";

/**
 * @typedef {object} Pane
 * @property {string} id in the URL, and `pane.ID` in templates/words/panes.html
 * @property {string} group `pane-group.GROUP` in templates/words/panes.html
 * @property {(root: HTMLElement, state: import("../page.js").PageState) => () => void} mount
 * @property {true} [works] asks the server for work: not for views that are only read
 */

/** @type {readonly Pane[]} */
export const PANES = [
  { id: "steps", group: "pass", mount: mountSteps },
  { id: "text", group: "pass", mount: mountText },
  { id: "node", group: "pass", mount: mountNode },
  { id: "numerics", group: "pass", mount: mountNumerics, works: true },
  { id: "stack", group: "program", mount: mountStack },
  { id: "memory", group: "program", mount: mountMemory },
  { id: "kernels", group: "program", mount: mountKernels },
  { id: "devices", group: "program", mount: mountDevices, works: true },
  { id: "timing", group: "time", mount: mountTiming },
  { id: "profile", group: "time", mount: mountProfile },
  { id: "roofline", group: "time", mount: mountRoofline },
  { id: "tuning", group: "time", mount: mountTuning, works: true },
  { id: "computation", group: "code", mount: codePane("computation") },
  { id: "schedule", group: "code", mount: codePane("schedule") },
  { id: "loops", group: "code", mount: codePane("loops") },
  { id: "llvm", group: "code", mount: codePane("llvm") },
  { id: "asm", group: "code", mount: codePane("asm") },
  { id: "targets", group: "code", mount: mountTargets, works: true },
  { id: "compare", group: "compare", mount: mountCompare, works: true },
];

/** What can be shown of a finished job alone. */
export const readOnlyPanes = () => PANES.filter(({ works }) => !works);
