// Links into the playground: a pane on a graph of the lesson, with the whole state in the URL.
import { START, toFragment, tooLong } from "../state/url.js";

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
export const playgroundAddress = (wanted) => `/#${toFragment(placeOf(wanted))}`;

/**
 * Return the address of the read-only view of a state, for a frame in a page of this site; "" if the text of the
 * graph is too long for an address.
 * @param {Wanted} wanted
 * @returns {string}
 */
export function viewAddress(wanted) {
  const place = placeOf(wanted);
  return tooLong(place).length ? "" : `/embed#${toFragment(place)}`;
}

/** @param {Wanted} wanted */
function placeOf({ graph = "", sample = "", pipeline = "default", pane = "steps", select = "", stage = 0 }) {
  return {
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
}
