// Sentences about the disturbance of a measurement by other work on the machine.
import { formatPercent } from "../text/format.js";
import { word } from "../text/words.js";

/** @typedef {import("../wire.js").Disturbance} Disturbance */

/** Return whether the times may be trusted. @param {Disturbance | null | undefined} found */
export function isUndisturbed(found) {
  return !found || found.causes.length === 0;
}

/** Describe the use of the processors during a measurement. @param {Disturbance} found */
export function disturbanceWords(found) {
  const figures = {
    waiting: formatPercent(found.waiting_share ?? 0),
    steal: formatPercent(found.steal_share ?? 0),
    busy: (found.busy_processors ?? 0).toFixed(1),
    n: found.n_processors,
  };
  if (found.causes.length)
    return word("disturbance.disturbed", {
      causes: found.causes.map((cause) => word(`disturbance.${cause}`, figures)).join("; "),
    });
  return found.busy_processors === null
    ? word("disturbance.unknown")
    : word("disturbance.quiet", figures);
}
