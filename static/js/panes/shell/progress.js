// Progress of a compilation: a bar, and the finished passes with their times.
import { el, part } from "../../elements/dom.js";
import { formatDelta, formatSeconds } from "../../text/format.js";

/**
 * @param {HTMLElement} root element with the parts "track" and "progress-list"
 * @param {import("../../state/page.js").Progress} progress
 */
export function showProgress(root, progress) {
  const track = part(root, "track");
  const percent = Math.round(progress.share * 100);
  track.setAttribute("aria-valuenow", String(percent));
  if (track.firstElementChild instanceof HTMLElement)
    track.firstElementChild.style.width = `${percent}%`;

  const list = part(root, "progress-list");
  if (progress.passes.length < list.children.length) list.replaceChildren();
  for (const pass of progress.passes.slice(list.children.length)) {
    const before = progress.passes[progress.passes.indexOf(pass) - 1];
    list.append(
      el(
        "li",
        { "data-quiet": !pass.changed },
        el("strong", {}, pass.name),
        before && pass.n_nodes !== before.n_nodes
          ? el("span", {}, formatDelta(pass.n_nodes - before.n_nodes))
          : null,
        el("span", { class: "muted" }, formatSeconds(pass.seconds)),
      ),
    );
    list.scrollTop = list.scrollHeight;
  }
}
