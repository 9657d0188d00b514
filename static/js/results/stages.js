// Walks the stages: the next pass, and the graphs before and after it; and the titles of stages.
import { word } from "../text/words.js";

/** @typedef {import("../wire.js").Stage} Stage */

/**
 * Return the next stage in a direction, optionally only a changed stage; the same stage if there is none.
 * Stage 0, the import, counts as changed.
 * @param {Stage[]} stages
 * @param {number} from
 * @param {1 | -1} direction
 * @param {boolean} all
 * @returns {number}
 */
export function nextStage(stages, from, direction, all) {
  for (let at = from + direction; at >= 0 && at < stages.length; at += direction) {
    if (all || stages[at].changed || at === 0) return at;
  }
  return from;
}

/**
 * Return the title of a stage: the number and the name of its pass, such as "33 fuse". The imported graph and
 * "specialise", which no pass made, have no number.
 * @param {Pick<Stage, "stage" | "pass_number" | "name"> | undefined} stage
 * @returns {string} "" for an absent stage
 */
export function stageTitle(stage) {
  if (!stage) return "";
  if (stage.stage === 0) return word("passes.imported");
  return stage.pass_number === null ? stage.name : `${stage.pass_number} ${stage.name}`;
}

/**
 * Return the first pass that changed the graph.
 * @param {Stage[]} stages
 */
export function firstChange(stages) {
  return stages.find(({ pass_number: number, changed }) => number !== null && changed);
}

/**
 * Return the additional bytes of values after a pass; 0 if a size was unknown before or after.
 * @param {Pick<Stage, "value_bytes">} stage
 * @param {Pick<Stage, "value_bytes">} before
 */
export function valuesAdded({ value_bytes: now }, { value_bytes: then }) {
  return now === null || then === null ? 0 : now - then;
}

/**
 * @param {Pick<Stage, "constant_bytes">} stage
 * @param {Pick<Stage, "constant_bytes">} before
 */
export function constantsAdded(stage, before) {
  return stage.constant_bytes - before.constant_bytes;
}

/**
 * Return the bytes of values and constants that a pass saved. Each value is written once and read at least
 * once, so a pass that removes a value saves at least twice its bytes of traffic.
 * @param {Stage} stage
 * @param {Stage} before
 */
function bytesSaved(stage, before) {
  return -valuesAdded(stage, before) - constantsAdded(stage, before);
}

/**
 * Return the stage whose pass saved most bytes of values and constants. If no pass saved bytes (all sizes may be
 * open), the pass that removed most nodes; if none removed nodes, the first that applied a rewrite, else the
 * first that changed the graph, else the import. Of equal stages, the first.
 * @param {Stage[]} stages
 * @returns {number}
 */
export function mostSaved(stages) {
  const changed = stages.filter(({ pass_number: number, changed: has }) => number !== null && has);
  const saved = (/** @type {(stage: Stage, before: Stage) => number} */ amount) =>
    best(changed, (each) => amount(each, stages[each.stage - 1]));
  return (
    saved(bytesSaved) ??
    saved((each, before) => before.n_nodes - each.n_nodes) ??
    changed.find(({ n_applied }) => n_applied > 0) ??
    changed[0] ??
    stages[0]
  ).stage;
}

/**
 * @param {Stage[]} stages
 * @param {(stage: Stage) => number} amount
 * @returns {Stage | undefined} the first stage with the largest positive amount
 */
function best(stages, amount) {
  const most = Math.max(0, ...stages.map(amount));
  return most > 0 ? stages.find((each) => amount(each) === most) : undefined;
}

/**
 * @param {Stage[]} stages
 * @param {number} stage
 * @returns {number} an existing stage
 */
export function clampStage(stages, stage) {
  return Math.max(0, Math.min(stage, stages.length - 1));
}

/**
 * Return the stages that have their own graph, in order.
 * @param {Stage[]} stages
 * @returns {Stage[]}
 */
export function ownGraphs(stages) {
  return stages.filter((each) => each.graph_stage === each.stage);
}

/**
 * Return the last stage that changed the graph; its graph is that of all later stages.
 * @param {Pick<Stage, "changed">[]} stages
 */
export function lastChanged(stages) {
  return Math.max(0, stages.findLastIndex(({ changed }) => changed));
}
