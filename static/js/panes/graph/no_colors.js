// Handles overlays without data. For devices, it places the kernels like the pane Devices. For errors,
// it links to the check of the numbers.
import { keptFindings } from "../../jobs/beside.js";
import { asProblem } from "../../jobs/compile.js";
import { el, listen, part } from "../../elements/dom.js";
import { askPlatforms, createPlacements, isQuick } from "../../jobs/placements.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { panesOf } from "../index.js";

const PANE = "devices";
const CHECKED_IN = "numerics";

/**
 * @param {HTMLElement} root root element of the graph
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountNoColors(root, state) {
  const note = part(root, "no-colors");
  const go = el("button", { class: "button", type: "button" }, word("overlay.place"));
  const check = el("button", { class: "button", type: "button" }, word("overlay.check"));
  /** The last request, stored because a failed request is not repeated. */
  let asked = "";
  let stopPlacing = () => {};

  /** @param {string} words @param {boolean} canGo */
  function say(words, canGo) {
    note.hidden = words === "";
    note.replaceChildren(el("span", {}, words), ...(canGo ? [go] : []));
  }

  /** @param {import("../../state/page.js").Page} page */
  function show(page) {
    if (page.color === "error" && page.numerics.found === null) return showUnchecked(page);
    if (page.color !== "device" || page.placement !== null) return say("", false);
    if (!page.parts || !page.result?.memory || !panesOf(page).some(({ id }) => id === PANE))
      return say(word("overlay.no-placement"), false);
    const wanted = [page.parts.id, page.platform, page.scheduler, page.ahead].join(" ");
    go.hidden = page.pane === PANE;
    if (wanted === asked) return;
    asked = wanted;
    say(word("overlay.placing"), true);
    void place(page, page.parts);
  }

  /** @param {import("../../state/page.js").Page} page */
  function showUnchecked(page) {
    const canCheck = page.result?.complete && panesOf(page).some(({ id }) => id === CHECKED_IN);
    note.hidden = false;
    note.replaceChildren(
      el("span", {}, word(canCheck ? "overlay.unchecked" : "overlay.no-check")),
      ...(canCheck && page.pane !== CHECKED_IN ? [check] : []),
    );
  }

  /** @param {import("../../state/page.js").Page} page @param {import("../../server/api.js").Parts} parts */
  async function place({ platform, scheduler, ahead, work, beside }, parts) {
    stopPlacing();
    const wanted = asked;
    const placements = createPlacements(parts.id, work ?? keptFindings(beside));
    stopPlacing = placements.stop;
    const isWanted = () => asked === wanted && state.get().placement === null;
    try {
      const quick = isQuick(await askPlatforms(), scheduler);
      if (!isWanted()) return;
      // If the pane Devices waits for the same placement, it shares the job.
      const options = { platform, scheduler, ahead: ahead < 0 ? null : ahead };
      const placement = await placements.place(options, quick).of(scheduler);
      if (isWanted()) state.set({ placement });
    } catch (problem) {
      if (isWanted()) say(word("overlay.unplaced", { why: asProblem(problem).message }), true);
    }
  }

  return together(
    listen(go, { click: () => state.set({ pane: PANE }) }),
    listen(check, { click: () => state.set({ pane: CHECKED_IN }) }),
    state.watch(
      ["color", "placement", "numerics", "work", "beside", "pane", "result", "platform", "scheduler", "ahead"],
      show,
    ),
    () => ((asked = ""), stopPlacing()),
  );
}
