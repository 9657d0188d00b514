// Sizes that the user types for the open dimensions of a model's inputs.

/**
 * @typedef {{name: string, type: string, dims: (number | string)[]}} OpenInput an input with open dimensions; `dims`
 *   are the default sizes, and `type` is "" for an input of a sample
 * @typedef {{key: string, values: Record<string, string | number>}} SizesProblem words about a text, with their values
 */

/**
 * Parse "1, 3,224" or "1x3x224" into numbers; null for any other text.
 * @param {string} text
 * @returns {number[] | null}
 */
export function parseDims(text) {
  if (text.trim() === "") return [];
  const parts = text.split(/[,x×]/).map((each) => each.trim());
  return parts.every((each) => /^\d{1,9}$/.test(each)) ? parts.map(Number) : null;
}

/**
 * Return inputs with open dimensions, with their default sizes.
 * @param {Pick<import("../state/page.js").Page, "model" | "samples" | "inspected">} page
 * @returns {OpenInput[]}
 */
export function openInputs({ model, samples, inspected }) {
  if (model.startsWith("sample:")) {
    const sample = samples?.find((each) => each.id === model.slice("sample:".length));
    return Object.entries(sample?.shapes ?? {}).map(([name, dims]) => ({ name, type: "", dims }));
  }
  return (inspected?.inputs ?? [])
    .filter(({ name }) => inspected?.shapes[name]?.assumed)
    .map(({ name, type }) => ({ name, type, dims: inspected?.shapes[name].dims ?? [] }));
}

/**
 * Return why a text does not give the sizes of an input, with the expected sizes; null if it does.
 * @param {string} text
 * @param {OpenInput} input
 * @returns {SizesProblem | null}
 */
export function sizesProblem(text, { type, dims }) {
  const example = dims.join(",");
  const form = /\[(.+)\]/.exec(type)?.[1] ?? "";
  const values = { n: dims.length, example, form: form || example };
  const sizes = parseDims(text);
  if (sizes === null) return { key: "shapes.not-sizes", values };
  if (sizes.length === 0) return null;
  if (dims.length && sizes.length !== dims.length)
    return { key: form ? "shapes.count-form" : "shapes.count", values };
  const fixed = form.split(",").map((each) => each.trim());
  const at = fixed.findIndex((each, i) => /^\d+$/.test(each) && Number(each) !== sizes[i]);
  if (fixed.length === sizes.length && at >= 0) return { key: "shapes.fixed", values: { ...values, n: at + 1, size: fixed[at] } };
  return null;
}

/**
 * Return the first input whose typed sizes do not fit, with the reason; null if all sizes fit.
 * @param {Pick<import("../state/page.js").Page, "model" | "samples" | "inspected" | "shapes">} page
 * @returns {(SizesProblem & {name: string}) | null}
 */
export function wrongSizes(page) {
  const inputs = openInputs(page);
  for (const [name, text] of Object.entries(page.shapes)) {
    const input = inputs.find((each) => each.name === name) ?? { name, type: "", dims: [] };
    const problem = sizesProblem(text, input);
    if (problem) return { name, ...problem };
  }
  return null;
}
