// Keeps `graph` and `before` in step with the chosen stage; late answers are dropped.
import { asProblem } from "./compile.js";
import { areLinked } from "./links.js";
import { comparedWith, markedAgainst } from "./snapshots.js";
import { nextStage } from "./stages.js";

/**
 * Fetches, once they are there, the answers to which nodes are one kernel.
 * @param {import("./page.js").PageState} state
 * @returns {() => void}
 */
export function keepNeighbours(state) {
  return state.watch(["parts", "result", "ready"], async ({ parts, result, ready, neighbours }) => {
    if (!parts || neighbours || !areLinked({ result, ready })) return;
    try {
      const found = await parts.neighbours();
      if (state.get().parts === parts) state.set({ neighbours: found });
    } catch {
      // A job that was stopped before has none; nothing else waits for them.
    }
  });
}

/**
 * @param {import("./page.js").PageState} state
 * @returns {() => void}
 */
export function keepGraphs(state) {
  let request = 0;
  return state.watch(["parts", "result", "stage", "base"], async ({ parts, result, stage, base }) => {
    const number = ++request;
    if (!parts || !result || !result.stages[stage]) return;
    const other = comparedWith(result.stages, stage, base);
    const earlier = result.stages[other]?.graph_stage ?? -1;
    try {
      const [found, before] = await Promise.all([
        parts.graph(result.stages[stage].graph_stage),
        earlier < 0 ? null : parts.graph(earlier),
      ]);
      if (number !== request) return;
      const graph = other === stage - 1 || !before ? found : markedAgainst(found, before);
      state.set({ graph, before });
      // What the keys lead to next is fetched ahead.
      for (const direction of /** @type {const} */ ([1, -1])) {
        const near = nextStage(result.stages, stage, direction, false);
        parts.graph(result.stages[near].graph_stage).catch(() => {});
      }
    } catch (problem) {
      if (number === request) state.set({ problem: asProblem(problem) });
    }
  });
}
