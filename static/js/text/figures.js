// The figures declared in compiler/figures: titles, definitions and units, and values with their unit.
import { formatBytes, formatCount, formatError, formatFlops, formatPercent, formatRate, formatRatio, formatSeconds } from "./format.js";
import { word } from "./words.js";

/**
 * @typedef {object} FigureWords
 * @property {string} title
 * @property {string} words the definition, one sentence
 * @property {string} method how the figure is computed; "" if the definition says it
 * @property {string} unit
 */

/** The format of each unit. @type {Record<string, (value: number) => string>} */
export const FORMATS = {
  count: formatCount,
  B: formatBytes,
  s: formatSeconds,
  flop: formatFlops,
  "flop/s": formatRate,
  "flop/B": formatRatio,
  share: formatPercent,
  ratio: formatRatio,
  error: formatError,
};

/**
 * Return the declaration of a figure.
 * @param {string} name name of the function in compiler/figures
 * @returns {FigureWords}
 */
export function figureWords(name) {
  return {
    title: word(`figure.${name}`),
    words: word(`figure-words.${name}`),
    method: word(`figure-method.${name}`),
    unit: word(`figure-unit.${name}`),
  };
}

/**
 * Format a value in the declared unit of its figure; "–" if the value is unknown.
 * @param {string} name
 * @param {number | null} value
 */
export function formatFigure(name, value) {
  return value === null ? "–" : FORMATS[figureWords(name).unit](value);
}
