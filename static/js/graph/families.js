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
 * The family that the server names; anything it may add later is drawn as "opaque".
 * @param {string} name
 * @returns {Family}
 */
export function asFamily(name) {
  return FAMILIES.find((family) => family === name) ?? "opaque";
}

/**
 * The family that colours a kernel: what its words name, "opaque" where the reference runs it.
 * @param {{native: boolean, words: string}} kernel
 * @returns {Family}
 */
export function familyOfKernel({ native, words }) {
  if (!native) return "opaque";
  return FAMILIES.find((family) => words.includes(family)) ?? "contraction";
}
