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
 * Return the bytes of a stage's values and constants. Each value is written once and read at least once, so
 * a pass that removes a value saves at least twice its bytes of traffic.
 * @param {Pick<Stage, "value_bytes" | "constant_bytes">} stage
 */
export const bytesMade = ({ value_bytes, constant_bytes }) => value_bytes + constant_bytes;

/**
 * Return the stage whose pass saved most bytes of values and constants. If no pass saved bytes (all sizes may be
 * open), the pass that removed most nodes; if none removed nodes, the first that applied a rewrite, else the
 * first that changed the graph, else the import. Of equal stages, the first.
 * @param {Stage[]} stages
 * @returns {number}
 */
export function mostSaved(stages) {
  const changed = stages.filter(({ stage, changed: has }) => stage > 0 && has);
  const saved = (/** @type {(stage: Stage) => number} */ amount) =>
    best(changed, (each) => amount(stages[each.stage - 1]) - amount(each));
  return (
    saved(bytesMade) ??
    saved(({ n_nodes }) => n_nodes) ??
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
