// The stop about fusion: the kernels that it made, the traffic that they save, and its effect on time.
import { trafficOf } from "../../results/comparison.js";
import { isUndisturbed } from "../../results/disturbance.js";
import { formatBytes, formatCount, formatPercent, formatSeconds } from "../../text/format.js";
import { parsePipeline, printPipeline } from "../../text/pipeline_text.js";
import { counted, numbered } from "./said.js";

/**
 * @typedef {import("./said.js").Said} Said
 * @typedef {import("./stops.js").Facts} Facts
 * @typedef {import("../../wire.js").Result} Result
 * @typedef {import("../../wire.js").Stage} Stage
 */

/** Ratio of the times without and with fusion below which the tour explains the small gain. */
const SMALL_GAIN = 1.25;

/** The name of the pass that fuses. */
export const FUSE = "fuse";

/**
 * Return the stage of the fusing pass that applied most, null if no pass fuses.
 * @param {Pick<Result, "stages">} result
 * @returns {Stage | null}
 */
export function fusingStage({ stages }) {
  const found = stages.filter(({ name }) => name === FUSE);
  return found.sort((a, b) => b.n_applied - a.n_applied || a.stage - b.stage)[0] ?? null;
}

/**
 * Return whether the only difference between two compilations is fusion, which the second one lacks.
 * @param {Result} a
 * @param {Result} b
 */
export function isUnfused(a, b) {
  const passes = (/** @type {Result} */ { pipeline }) =>
    printPipeline(parsePipeline(pipeline).filter(({ name }) => name !== FUSE));
  return (
    fusingStage(a) !== null &&
    fusingStage(b) === null &&
    a.model.id === b.model.id &&
    passes(a) === passes(b) &&
    JSON.stringify([a.shapes, a.options]) === JSON.stringify([b.shapes, b.options])
  );
}

/** @param {Facts} facts @returns {Omit<import("./stops.js").Stop, "id">} */
export function fusionStop(facts) {
  const { result, steps } = facts;
  const stage = fusingStage(result);
  if (!stage) {
    const reason = result.complete ? "tour.no-fuse" : "tour.fuse-not-reached";
    return { applies: false, move: {}, says: [[result.state === "running" ? "tour.soon" : reason]] };
  }
  const move = { stage: stage.stage, pane: "steps" };
  const applied = (steps?.steps ?? []).flatMap((step, index) => (step.outcome === "applied" ? [{ step, index }] : []));
  if (stage.n_applied === 0) return { applies: false, move, says: nothing(stage, steps) };
  if (applied.length === 0) return { applies: true, move, says: [["tour.soon"]] };
  const saved = applied.reduce((sum, { step }) => sum + (step.saves?.bytes ?? 0), 0);
  const most = applied.reduce((a, b) => ((b.step.saves?.bytes ?? 0) > (a.step.saves?.bytes ?? 0) ? b : a));
  const joined = applied.reduce((sum, { step }) => sum + step.took.length, 0);
  return {
    applies: true,
    move: { ...move, step: `${stage.stage}:${most.index}` },
    says: [
      ["tour.fused", { nodes: counted("n-nodes", joined), kernels: counted("header.kernels", applied.length) }],
      ...traffic(result, saved),
      ...arena(facts),
      ...time(facts),
      ...(facts.unfused ? [] : /** @type {Said[]} */ ([["tour.see-fusion"]])),
    ],
  };
}

/**
 * @param {Result} result
 * @param {number} saved
 * @returns {Said[]}
 */
function traffic({ kernels }, saved) {
  if (saved <= 0) return [["tour.fused-unknown"]];
  const moved = trafficOf(kernels);
  return [
    ["tour.fused-saves", { saved: formatBytes(saved) }],
    ...(moved ? /** @type {Said[]} */ ([["tour.traffic", { moved: formatBytes(moved) }]]) : []),
  ];
}

/** @param {Facts} facts @returns {Said[]} */
function arena({ result, unfused }) {
  const [fused, without] = [result.memory?.peak_bytes, unfused?.memory?.peak_bytes];
  if (fused === undefined || without === undefined) return [];
  if (fused === without) return [["tour.arena-unchanged", { fused: formatBytes(fused) }]];
  return [["tour.arena-both", { fused: formatBytes(fused), unfused: formatBytes(without) }]];
}

/** @param {Facts} facts @returns {Said[]} */
function time({ result, unfused, compiles, comparison }) {
  const { run } = result;
  if (!run || run.median_s === null)
    return [[result.state === "running" ? "tour.time-soon" : "tour.time-none"]];
  if (!unfused && compiles) return [["tour.time-compiling"]];
  if (!unfused) return alone(run, run.median_s);
  if (!comparison) return [["tour.time-comparing"]];
  const { a, verdict, disturbance } = comparison;
  const fused = comparison.is_native ? a.launches_s : a.run.median_s;
  return [
    [comparison.is_native ? "tour.time-both" : "tour.time-both-runs", { fused: formatSeconds(fused) }],
    [`tour-fusion.${verdict}`, difference(comparison)],
    ...(isUndisturbed(disturbance) ? [] : /** @type {Said[]} */ ([["tour-fusion.disturbed"]])),
    ...(comparison.ratio < SMALL_GAIN ? whyLittle(result) : []),
  ];
}

/**
 * Return the difference of the times with its interval, from the smaller to the larger difference.
 * The ratio of the two medians may differ from it: the verdict is that of pairs of copies.
 * @param {{ ratio: number, low: number, high: number }} comparison
 */
function difference({ ratio, low, high }) {
  const [share, a, b] = [ratio, low, high].map((each) => Math.sign(ratio - 1) * (each - 1));
  return { share: formatPercent(share), low: formatPercent(Math.min(a, b)), high: formatPercent(Math.max(a, b)) };
}

/**
 * Return the time of a run that no comparison has measured, with its interval and its disturbance.
 * @param {NonNullable<Result["run"]>} run
 * @param {number} median_s
 * @returns {Said[]}
 */
function alone({ low_s, high_s, disturbance }, median_s) {
  const [time, low, high] = [median_s, low_s ?? median_s, high_s ?? median_s].map(formatSeconds);
  /** @type {Said[]} */
  const said = [["tour.time-unfused", { time, low, high }]];
  return disturbance?.causes.length ? [...said, ["tour.time-disturbed"]] : said;
}

/**
 * Return why less traffic saves little time, from the predicted limits of the kernels. Predictions are
 * independent of other load at the time of the measurement.
 * @param {Result} result
 * @returns {Said[]}
 */
function whyLittle({ kernels }) {
  const launched = kernels.filter(({ inside, bound }) => inside === null && bound !== "");
  const n = launched.length;
  const bounded = (/** @type {string} */ by) => launched.filter(({ bound }) => bound === by).length;
  if (2 * bounded("overhead") > n) return [["tour-fusion.short"]];
  const dram = bounded("DRAM");
  return 2 * dram < n ? [["tour-fusion.cached", { dram: formatCount(dram), n }]] : [];
}

/**
 * Return why the pass changed nothing.
 * @param {Stage} stage
 * @param {Facts["steps"]} steps
 * @returns {Said[]}
 */
function nothing({ n_declined: declined }, steps) {
  const first = steps?.steps.find((each) => each.outcome === "declined");
  if (!first) return [["tour.fuse-nothing"]];
  return [["tour.fuse-nothing"], ["tour.fuse-declined", { ...numbered(declined), because: first.because }]];
}
