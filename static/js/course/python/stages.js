// The stages of starting Python in the page, in order, with the words that a reader sees.

/** @typedef {"python" | "packages" | "compiler" | "ready"} Stage */

/** @type {Record<Stage, string>} */
export const STAGES = {
  python: "Loading Python",
  packages: "Loading numpy and the compiler",
  compiler: "Starting the compiler",
  ready: "Python is ready",
};

/**
 * Return the words for a stage, with its position among all stages.
 * @param {Stage} stage
 */
export function stageText(stage) {
  const order = Object.keys(STAGES);
  return stage === "ready" ? STAGES.ready : `${STAGES[stage]} (step ${order.indexOf(stage) + 1} of ${order.length - 1})`;
}
