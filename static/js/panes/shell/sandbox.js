// A note above the page of a server that cannot isolate models, with the remedy.
import { clone, part } from "../../elements/dom.js";

/**
 * Show the note unless the sandbox is complete or was not tested.
 * @param {HTMLElement} main
 * @param {import("../../wire.js").Sandbox} found
 */
export function noteSandbox(main, found) {
  if (found.state !== "absent" && found.state !== "waived") return;
  const note = clone("sandbox-note");
  part(note, found.state).hidden = false;
  part(note, "obstacle").textContent = found.obstacle;
  part(note, "fix").textContent = found.fix;
  main.before(note);
}
