// The origin of a report, sufficient to reproduce it: command, versions, machine, seed, digest.
import { clone, el, listen, part } from "../../elements/dom.js";
import { formatBytes } from "../../text/format.js";
import { word } from "../../text/words.js";

/**
 * @typedef {object} About facts that the server wrote into the report
 * @property {string} fragment
 * @property {string} made date and time
 * @property {string[]} left_out
 * @property {string} job
 * @property {number} seed
 * @property {string} digest SHA-256 of the model's file
 */

/**
 * @param {HTMLDialogElement} dialog
 * @param {About} about
 * @param {import("../../wire.js").Result} result
 */
export function openAbout(dialog, about, result) {
  dialog.replaceChildren(clone("about-report"));
  part(dialog, "command").textContent = result.reproduce;
  const facts = {
    model: `${result.model.name}, ${formatBytes(result.model.bytes)}`,
    digest: about.digest,
    machine: `${result.host.name}, ${result.host.triple}`,
    versions: Object.entries(result.versions)
      .map((each) => each.join(" "))
      .join(", "),
    seed: String(about.seed),
    made: about.made,
  };
  for (const [name, says] of Object.entries(facts))
    part(dialog, "facts").append(
      el("dt", {}, word(`report.${name}`)),
      el("dd", { class: "wrap" }, says),
    );
  const leftOut = part(dialog, "left-out");
  leftOut.hidden = about.left_out.length === 0;
  leftOut.textContent = word("report.left-out", { what: about.left_out.join("; ") });
  listen(part(dialog, "close"), { click: () => dialog.close() });
  dialog.showModal();
}
