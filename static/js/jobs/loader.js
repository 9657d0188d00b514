// Updates `graph` and `before` when another stage is chosen; late answers are dropped.
import { asProblem } from "./compile.js";
import { areLinked } from "../text/links.js";
import { comparedWith, markedAgainst } from "../results/snapshots.js";
import { nextStage } from "../results/stages.js";

/** @typedef {import("../wire.js").StageGraph} StageGraph */

/** Number of stages in each direction whose graphs are prefetched. */
const AHEAD = 2;

/**
 * Fetch the fusion verdicts of neighbours once they exist.
 * @param {import("../state/page.js").PageState} state
 * @returns {() => void}
 */
export function keepNeighbours(state) {
  return state.watch(["parts", "result", "ready"], async ({ parts, result, ready, neighbours }) => {
    if (!parts || neighbours || !areLinked({ result, ready })) return;
    try {
      const found = await parts.neighbours();
      if (state.get().parts === parts) state.set({ neighbours: found });
    } catch {
      // A job that stopped earlier has no verdicts, and nothing else waits for them.
    }
  });
}

/**
 * Prefetch the next graphs in both directions, because a repeating key is faster than the server.
 * @param {import("../server/api.js").Parts} parts
 * @param {import("../wire.js").Stage[]} stages
 * @param {number} from
 */
function fetchAhead(parts, stages, from) {
  for (const direction of /** @type {const} */ ([1, -1])) {
    let near = from;
    for (let step = 0; step < AHEAD; step++) {
      near = nextStage(stages, near, direction, false);
      parts.graph(stages[near].graph_stage).catch(() => {});
    }
  }
}

/**
 * Return the graph of a stage and its base of comparison.
 * @param {import("../server/api.js").Parts} parts
 * @param {import("../wire.js").Stage[]} stages
 * @param {number} stage
 * @param {number} base stage for comparison; -1 for the previous stage
 * @returns {Promise<{graph: StageGraph, before: StageGraph | null}>} the same objects each time, unless a base is chosen
 */
export async function graphsAt(parts, stages, stage, base) {
  const other = comparedWith(stages, stage, base);
  const earlier = stages[other]?.graph_stage ?? -1;
  const [found, before] = await Promise.all([
    parts.graph(stages[stage].graph_stage),
    earlier < 0 ? null : parts.graph(earlier),
  ]);
  return { graph: other === stage - 1 || !before ? found : markedAgainst(found, before), before };
}

/**
 * @param {import("../state/page.js").PageState} state
 * @returns {() => void}
 */
export function keepGraphs(state) {
  let request = 0;
  return state.watch(["parts", "result", "stage", "base"], async ({ parts, result, stage, base }) => {
    const number = ++request;
    if (!parts || !result || !result.stages[stage]) return;
    try {
      const graphs = await graphsAt(parts, result.stages, stage, base);
      if (number !== request) return;
      state.set(graphs);
      fetchAhead(parts, result.stages, stage);
    } catch (problem) {
      if (number === request) state.set({ problem: asProblem(problem) });
    }
  });
}
