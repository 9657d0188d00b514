// Summarises a compiled model in one line: number of nodes before and after, kernels, time of a run.
import { formatSeconds } from "./format.js";
import { word } from "./words.js";

/** @param {import("../wire.js").Result} result */
export function headline({ kernels, run, stages, complete, state }) {
  if (!complete && state !== "running") return word("header.incomplete");
  if (!complete && kernels.length === 0) return "";
  const key = run?.disturbance?.causes.length ? "header.time-disturbed" : "header.time";
  const time = run?.median_s ? word(key, { time: formatSeconds(run.median_s) }) : "";
  const last = stages[stages.length - 1];
  return [
    word("header.shrunk", { from: stages[0].n_nodes, to: last.n_nodes }),
    word("header.kernels", { n: kernels.length }),
    time,
  ]
    .filter(Boolean)
    .join(" · ");
}
