// Keeps `graph` and `before` in step with the chosen stage; late answers are dropped.
import { asProblem } from "./compile.js";
import { areLinked } from "./links.js";
import { graphBefore, nextStage } from "./stages.js";

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
  return state.watch(["parts", "result", "stage"], async ({ parts, result, stage }) => {
    const number = ++request;
    if (!parts || !result || !result.stages[stage]) return;
    const earlier = graphBefore(result.stages, stage);
    try {
      const [graph, before] = await Promise.all([
        parts.graph(result.stages[stage].graph_stage),
        earlier < 0 ? null : parts.graph(earlier),
      ]);
      if (number !== request) return;
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
