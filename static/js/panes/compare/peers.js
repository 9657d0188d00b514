// Comparisons of the compiled model with other runtimes that are installed on the server.
import { api } from "../../server/api.js";
import { asProblem } from "../../jobs/compile.js";
import { childJob } from "../../jobs/child_job.js";
import { el } from "../../elements/dom.js";
import { formatError, unbroken } from "../../text/format.js";
import { isUndisturbed } from "../../results/disturbance.js";
import { word } from "../../text/words.js";
import { axis, timesTable, verdictWords } from "./compared_view.js";
import { showProblem } from "../shell/problem.js";

/**
 * @typedef {import("../../wire.js").Peer} Peer
 * @typedef {import("../../wire.js").PeerComparison} PeerComparison
 */

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {import("../../server/work.js").Work} work
 * @returns {() => void}
 */
export function mountPeers(root, state, work) {
  let stopped = false;
  let cancel = () => {};
  const list = el("div", { class: "compare-run" });
  const shown = el("div", { "aria-live": "polite" });
  root.replaceChildren(list, shown);

  async function compare(/** @type {Peer} */ peer) {
    const { parts } = state.get();
    if (!parts) return;
    cancel();
    shown.replaceChildren(el("p", { class: "muted" }, word("comparing.starts")));
    const job = childJob(() => work.comparePeer(parts.id, { peer: peer.name }), (name, data) => {
      const says = shown.firstElementChild;
      if (!says) return;
      if (name === "queued") says.textContent = word("progress.queued", { n: data.position });
      else if (name === "phase") says.textContent = word(`peers.${data.phase}`, { title: peer.title });
    });
    cancel = job.cancel;
    try {
      const { id, state: end } = await job.done;
      const found = end === "succeeded" ? await api.peerComparison(id) : null;
      if (!stopped) shown.replaceChildren(...(found ? [verdict(found)] : []));
    } catch (thrown) {
      if (stopped) return;
      const box = el("div", { class: "problem", role: "alert" });
      showProblem(box, asProblem(thrown));
      shown.replaceChildren(box);
    } finally {
      cancel = () => {};
    }
  }

  void api.peers().then(
    ({ peers }) => {
      if (!stopped) list.replaceChildren(...peers.map((peer) => choice(peer, () => void compare(peer))));
    },
    () => {},
  );
  return () => {
    stopped = true;
    cancel();
  };
}

/**
 * Return the button of a peer, or the command that installs it.
 * @param {Peer} peer
 * @param {() => void} onPick
 */
function choice({ title, is_installed: isInstalled, install }, onPick) {
  if (isInstalled) return el("button", { class: "button", type: "button", onclick: onPick }, title);
  return el("span", { class: "muted" }, `${word("peers.absent", { title })} `, el("code", {}, install));
}

/** @param {PeerComparison} found */
function verdict(found) {
  const names = { a: word("peers.ours"), b: found.title };
  return el(
    "div",
    { class: "compare-measured", "data-verdict": found.verdict, "data-peer": found.peer },
    el("p", {}, el("strong", {}, verdictWords(found, names))),
    axis(found),
    timesTable([{ key: "comparing.run", a: found.ours.median_s, b: found.theirs.median_s }], names),
    el(
      "p",
      { class: "muted" },
      word("peers.how", {
        title: found.title,
        version: found.peer_version,
        blocks: found.n_blocks,
        error: formatError(found.relative_error),
      }),
    ),
    el("p", { class: isUndisturbed(found.disturbance) ? "muted" : "disturbed" }, unbroken(found.disturbance.words)),
  );
}
