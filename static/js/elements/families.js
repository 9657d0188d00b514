// The families of operators, in the order of the legend. Their colours are `--family-NAME` in
// tokens.css, their names `family.NAME` in templates/words/.

export const FAMILIES = /** @type {const} */ ([
  "contraction",
  "elementwise",
  "reduction",
  "movement",
  "view",
  "scan",
  "control",
  "opaque",
  "input",
  "result",
]);

/** @typedef {typeof FAMILIES[number]} Family */

/**
 * Return the family named by the server; unknown families are drawn as "opaque".
 * @param {string} name
 * @returns {Family}
 */
export function asFamily(name) {
  return FAMILIES.find((family) => family === name) ?? "opaque";
}

/**
 * Return the family that colours a kernel; "opaque" if the reference runs the kernel.
 * @param {{native: boolean, words: string}} kernel
 * @returns {Family}
 */
export function familyOfKernel({ native, words }) {
  if (!native) return "opaque";
  return FAMILIES.find((family) => words.includes(family)) ?? "contraction";
}
