// Positions of errors on a logarithmic axis, and errors as text. Pure functions.

/**
 * @typedef {import("../wire.js").CheckedStage} CheckedStage
 * @typedef {import("../wire.js").Numerics} Numerics
 *
 * @typedef {object} Axis
 * @property {number} least power of ten at which the axis begins
 * @property {number} most power of ten at which the axis ends
 */

/** Share of the width that is reserved before the axis for an error of 0. */
const BEFORE = 0.07;

/**
 * Return the powers of ten around all errors and the tolerance.
 * @param {Numerics} found
 * @returns {Axis}
 */
export function axisOf({ rows, program, allowed }) {
  const runs = program ? [...rows, program] : rows;
  const errors = runs.flatMap((each) => [each.relative_error, each.wide_error]);
  const positive = errors.filter((each) => each !== null && each > 0);
  const all = [...positive, allowed].map((each) => Math.log10(Number(each)));
  return { least: Math.floor(Math.min(...all) - 0.3), most: Math.ceil(Math.max(...all) + 0.3) };
}

/**
 * Return the position of an error on the axis, between 0 and 1; NaN is at the end.
 * @param {Axis} axis
 * @param {number | null} error
 */
export function shareOf({ least, most }, error) {
  if (error === null) return 1;
  if (error <= 0) return 0;
  const share = (Math.log10(error) - least) / (most - least);
  return BEFORE + (1 - BEFORE) * Math.min(Math.max(share, 0), 1);
}

/**
 * Return the powers of ten that are labelled on the axis, at most `most`.
 * @param {Axis} axis
 * @param {number} most
 */
export function ticksOf({ least, most: end }, most = 6) {
  const every = Math.max(1, Math.ceil((end - least) / most));
  return Array.from({ length: Math.floor((end - least) / every) + 1 }, (_, i) => least + i * every);
}

/**
 * Return the stages to plot: the current stage, wrong stages, and stages whose pass changed the graph.
 * @param {CheckedStage[]} rows
 * @param {number} stage
 */
export function shownStages(rows, stage) {
  return rows.filter((each) => each.changed || each.stage === stage || each.mark === "wrong");
}

/**
 * Sort values by decreasing error; NaN comes first.
 * @param {import("../wire.js").CheckedValue[]} values
 */
export function worstFirst(values) {
  const size = (/** @type {number | null} */ error) => error ?? Infinity;
  return [...values].sort((a, b) => {
    const [x, y] = [size(a.relative_error), size(b.relative_error)];
    return x === y ? 0 : y - x;
  });
}

const FLOPS_AT_ONCE = 2e7;
const NODES_AT_ONCE = 100;

/**
 * Return whether a check takes about 1 s, short enough to start without a click.
 * @param {import("../wire.js").Result} result
 */
export function isQuick({ complete, kernels, model }) {
  const flops = kernels.reduce((sum, each) => sum + each.flops, 0);
  return complete && flops <= FLOPS_AT_ONCE && model.n_nodes <= NODES_AT_ONCE;
}
