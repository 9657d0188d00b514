// Links into the playground: a pane on a graph of the lesson, with the whole state in the URL.
import { START, toFragment } from "../state/url.js";

/**
 * @typedef {object} Wanted
 * @property {string} [graph] text of the graph
 * @property {string} [sample] name of a sample, instead of a text
 * @property {string} [pipeline]
 * @property {string} [pane]
 * @property {string} [select] node to select
 * @property {number} [stage]
 */

/**
 * Return the address of the playground in a state.
 * @param {Wanted} wanted
 * @returns {string}
 */
export function playgroundAddress({ graph = "", sample = "", pipeline = "default", pane = "steps", select = "", stage = 0 }) {
  const place = {
    ...START,
    screen: /** @type {const} */ ("walk"),
    model: sample ? `sample:${sample}` : "written",
    written: sample ? "" : `ir:${graph}`,
    pipeline,
    pane,
    stage,
    selection: select ? [select] : [],
    at: select,
  };
  return `/#${toFragment(place)}`;
}
