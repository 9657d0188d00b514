// Walks the stages: the next pass, and the graphs before and after it.

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
