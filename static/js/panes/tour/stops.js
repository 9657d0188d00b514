// The stops of the tour: what came in, fusion, memory, code, correctness. Each stop has sentences with the
// figures of the model, or with the reason for their absence, and a move to the view that it describes.
import { codeStop } from "./code_stop.js";
import { formatBytes, formatCount, formatError, formatPercent } from "../../text/format.js";
import { lastChanged } from "../../results/stages.js";
import { fusionStop } from "./fusion_stop.js";
import { counted } from "./said.js";

/**
 * @typedef {import("./said.js").Said} Said
 * @typedef {import("../../wire.js").Result} Result
 * @typedef {Partial<import("../../state/url.js").Place>} Move
 *
 * @typedef {object} Facts
 * @property {Result} result
 * @property {import("../../wire.js").PrecisionInfo[]} precisions
 * @property {readonly string[]} panes ids of the panes of this page
 * @property {import("../../wire.js").Steps | null} steps steps of the fusing pass
 * @property {import("../../wire.js").KernelText | null} loops Loop IR of the kernel of the stop about code
 * @property {import("../../wire.js").KernelText | null} asm assembly of this kernel
 * @property {Result | null} unfused the same compilation without fusion
 * @property {boolean} compiles whether the page waits for another compilation to compare with
 * @property {import("../../wire.js").Comparison | null} comparison the times of both, measured together
 *
 * @typedef {object} Stop
 * @property {keyof typeof MAKERS} id
 * @property {Said[]} says
 * @property {boolean} applies if false, `says` has the reason
 * @property {Move} move
 */

/** Named operators, inputs and results; a list of more ends with their number. */
const NAMED = 4;

/** The state from which every stop starts: no selection, no comparison with another stage. */
export const CLEARED = {
  selection: /** @type {string[]} */ ([]),
  at: "",
  edge: "",
  step: "",
  kernel: -1,
  line: "",
  base: -1,
  unfolded: /** @type {string[]} */ ([]),
};

/** The stops in order; `tour-stop.ID` is the title. */
const MAKERS = {
  source: sourceStop,
  fusion: fusionStop,
  memory: memoryStop,
  code: codeStop,
  right: rightStop,
};

export const STOPS = /** @type {(keyof typeof MAKERS)[]} */ (Object.keys(MAKERS));

/**
 * Return a stop of the tour; `number` counts from 1.
 * @param {number} number
 * @param {Facts} facts
 * @returns {Stop}
 */
export function stopOf(number, facts) {
  const id = STOPS[number - 1];
  const made = MAKERS[id](facts);
  return { id, ...made, move: { ...CLEARED, ...made.move } };
}

/** @param {Facts} facts @returns {Omit<Stop, "id">} */
function sourceStop({ result }) {
  const { model, inputs, outputs, shapes } = result;
  const assumed = Object.entries(shapes).filter(([, { assumed: is }]) => is);
  return {
    applies: true,
    move: { stage: 0, pane: "text" },
    says: [
      [model.n_onnx_nodes === model.n_nodes ? "tour.came" : "tour.came-imported", {
        onnx: counted("n-onnx-nodes", model.n_onnx_nodes),
        nodes: counted("n-nodes", model.n_nodes),
        operators: operatorsOf(model.operators),
      }],
      ["tour.types", { inputs: listed(inputs.map(typed)), outputs: listed(outputs.map(typed)) }],
      model.n_parameters
        ? ["tour.weights", {
            parameters: counted("n-parameters", model.n_parameters),
            bytes: formatBytes(model.constant_bytes),
          }]
        : ["tour.no-weights"],
      ...(assumed.length
        ? /** @type {Said[]} */ ([["tour.assumed", {
            shapes: listed(assumed.map(([name, { dims }]) => `${name} = ${dims.join("×")}`)),
          }]])
        : []),
      ["tour.see-source"],
    ],
  };
}

/**
 * Return the operators with their numbers of nodes; those that are not named end the list with all their nodes.
 * @param {Result["model"]["operators"]} operators
 * @returns {Said | string}
 */
function operatorsOf(operators) {
  const sorted = [...operators].sort((a, b) => b.count - a.count);
  const list = listed(sorted.map(({ op, count }) => `${formatCount(count)} ${op}`));
  if (typeof list === "string") return list;
  const nodes = sorted.slice(NAMED).reduce((sum, { count }) => sum + count, 0);
  return ["tour.listed-operators", { ...list[1], nodes: counted("n-nodes", nodes) }];
}

/** @param {import("../../wire.js").TypedName} value */
const typed = ({ name, type }) => `${name}: ${type}`;

/**
 * @param {string[]} texts
 * @returns {Said | string}
 */
function listed(texts) {
  const left = texts.length - NAMED;
  const named = texts.slice(0, left === 1 ? NAMED + 1 : NAMED).join(", ");
  return left > 1 ? ["tour.listed", { named, n: left }] : named;
}

/** @param {Facts} facts @returns {Omit<Stop, "id">} */
function memoryStop({ result: { memory, stages, state } }) {
  const move = { pane: "memory", stage: lastChanged(stages) };
  if (!memory) return { applies: false, move, says: [[state === "running" ? "tour.soon" : "memory.none"]] };
  if (memory.buffers.length === 0) return { applies: false, move, says: [["memory.no-buffers"]] };
  const { peak_bytes: peak, unshared_bytes: unshared, lower_bound_bytes: bound } = memory;
  return {
    applies: true,
    move,
    says: [
      ["tour.arena", { peak: formatBytes(peak), buffers: counted("tour.buffers", memory.buffers.length) }],
      unshared > peak
        ? ["tour.arena-shared", {
            unshared: formatBytes(unshared),
            share: formatPercent(1 - peak / unshared),
          }]
        : ["tour.arena-unshared"],
      peak <= bound ? ["tour.arena-least"] : ["tour.arena-gap", { bound: formatBytes(bound) }],
      ["tour.outside-arena"],
      ["tour.see-memory"],
    ],
  };
}

/** @param {Facts} facts @returns {Omit<Stop, "id">} */
function rightStop({ result, precisions, panes }) {
  const { check, accuracy, state, options } = result;
  const hasChecks = panes.includes("numerics");
  // Both references evaluate the imported graph, so the page shows this graph instead of the last pass.
  const move = { pane: hasChecks ? "numerics" : "timing", stage: 0 };
  /** @type {Said[]} */
  const more = accuracy
    ? [["tour.accuracy", {
        samples: formatCount(accuracy.n),
        compiled: formatPercent(accuracy.compiled),
        reference: formatPercent(accuracy.reference),
      }]]
    : [];
  if (!check || check.skipped || check.outputs.length === 0) {
    const why = check?.skipped ?? "";
    const reason = why ? "tour.unchecked-why" : state === "running" ? "tour.soon" : "timing.not-checked";
    return { applies: accuracy !== null, move, says: [[reason, { why }], ...more] };
  }
  const odd = check.outputs.find((each) => each.relative_error === null);
  const error = Math.max(...check.outputs.map((each) => each.relative_error ?? 0));
  const precision = options.precision ?? "f32";
  const tolerance = precisions.find((each) => each.name === precision)?.tolerance;
  /** @type {Said[]} */
  const says = odd
    ? [["tour.odd", { name: odd.name }]]
    : error === 0
      ? [["tour.same-bits"]]
      : [["tour.error", { error: formatError(error) }]];
  if (!odd && error > 0 && tolerance !== undefined)
    says.push([error <= tolerance ? "tour.allowed" : "tour.not-allowed", { precision, tolerance: formatError(tolerance) }]);
  return { applies: true, move, says: [...says, ...more, ["tour.see-imported"], [hasChecks ? "tour.see-numerics" : "tour.see-timing"]] };
}
