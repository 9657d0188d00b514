// Whether the times of a measurement may be trusted, by the other work on the machine.

/** @param {import("../wire.js").Disturbance | null | undefined} found */
export function isUndisturbed(found) {
  return !found || found.causes.length === 0;
}
