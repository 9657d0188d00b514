// Summarises a compiled model in one line: number of nodes before and after, kernels, time of a run.
import { formatSeconds } from "./format.js";
import { word } from "./words.js";

/** @param {import("../wire.js").Result} result */
export function headline(result) {
  return [figuresOf(result), sizesOf(result)].filter(Boolean).join(" · ");
}

/**
 * Return the headline without the sizes of the inputs.
 * @param {import("../wire.js").Result} result
 */
export function figuresOf(result) {
  const { kernels, run, stages, complete, state } = result;
  if (!complete && state !== "running") return word("header.incomplete");
  if (!complete && kernels.length === 0) return "";
  const key = run?.disturbance?.causes.length ? "header.time-disturbed" : "header.time";
  const time = run?.median_s ? word(key, { time: formatSeconds(run.median_s) }) : "";
  const last = stages[stages.length - 1];
  return [
    emptyWords(result),
    word("header.shrunk", { from: stages[0].n_nodes, to: last.n_nodes }),
    word("header.kernels", { n: kernels.length }),
    time,
  ]
    .filter(Boolean)
    .join(" · ");
}

/**
 * Return the sizes of the inputs that the model leaves open: "image 1×1×8×8 (assumed)"; "" if it leaves none open.
 * @param {Pick<import("../wire.js").Result, "inputs" | "shapes">} result
 */
export function sizesOf(result) {
  return sizesByInput(result)
    .map(({ sizes, assumed }) => (assumed ? word("header.assumed", { sizes }) : sizes))
    .join(", ");
}

/**
 * Return the sizes of each input that the model leaves open, and whether they are assumed.
 * @param {Pick<import("../wire.js").Result, "inputs" | "shapes">} result
 */
export function sizesByInput({ inputs, shapes }) {
  const isOpen = (/** @type {string} */ type) => /\[(?![\d,\s]*\])/.test(type);
  return inputs
    .filter(({ name, type }) => shapes[name] && (shapes[name].assumed || isOpen(type)))
    .map(({ name }) => {
      const { dims, assumed } = shapes[name];
      return { sizes: word("header.sizes", { name, dims: dims.join("×") }), assumed };
    });
}

/**
 * Return the warning about values without elements, "" if there are none.
 * @param {Pick<import("../wire.js").Result, "empty">} result
 */
export function emptyWords({ empty: { outputs, n_values, first } }) {
  if (outputs.length) return word("header.empty-outputs", { n: outputs.length, names: outputs.join(", ") });
  return n_values ? word("header.empty-values", { n: n_values, first }) : "";
}
