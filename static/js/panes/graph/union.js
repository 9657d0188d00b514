// Requests the union and its layout, which define the positions of all nodes, and shows the progress.
import { asProblem } from "../../jobs/compile.js";
import { el, part } from "../../elements/dom.js";
import { formatSeconds } from "../../text/format.js";
import { LayoutCancelled } from "../../graph/layout.js";
import { countBoxes, openGroups } from "../../graph/nesting.js";
import { placeSteps } from "../../graph/places.js";
import { together } from "../../state/state.js";
import { inTimeSlices } from "../../elements/scheduling.js";
import { word } from "../../text/words.js";

/**
 * @typedef {import("../../graph/places.js").Places} Places
 * @typedef {import("../../wire.js").Union} Union
 */

const NOTICE_AFTER_MS = 2500;
/** Maximum number of boxes for painting and layout. */
const MOST_BOXES = 5000;

/**
 * @param {HTMLElement} root root element of the graph
 * @param {import("../../state/page.js").PageState} state
 * @param {import("../../graph/layout.js").Layouter} layouter
 * @param {{placed: (places: Places | null, union: Union | null) => Promise<void>, showTable: (on: boolean) => void}} hooks
 * @returns {() => void}
 */
export function mountUnion(root, state, layouter, { placed, showTable }) {
  const stage = part(root, "stage");
  const notice = part(root, "notice");
  let request = 0;
  /** The last request: number of stages, and toggled groups. */
  let asked = "";
  /** @type {import("../../server/api.js").Parts | null} parts of the drawn job */
  let drawn = null;
  let isBusy = false;

  async function load() {
    const { parts, open, result } = state.get();
    const isFirst = parts !== drawn && result?.state === "running";
    const stages = Math.min(result?.stages.length ?? 0, isFirst ? 1 : Infinity);
    const wanted = JSON.stringify([open, stages]);
    if (parts === drawn && wanted === asked) return;
    // Draw the first graph early; load all stages afterwards.
    if (isBusy && parts === drawn && asked.startsWith(JSON.stringify([open]).slice(0, -1))) return;
    const number = ++request;
    delete stage.dataset.layout;
    // Show the current drawing while groups open or a running job adds stages.
    if (parts !== drawn) void placed(null, null);
    [drawn, asked] = [parts, wanted];
    if (!parts || stages === 0) return;
    isBusy = true;
    say([]);
    const late = setTimeout(() => number === request && offerCancel(), NOTICE_AFTER_MS);
    try {
      const union = await parts.union(stages);
      if (number !== request) return;
      const { opened, refused } = openedOf(union, open);
      const isWanted = () => number === request;
      const { layouts, seconds } = await layouter.layout(union, opened);
      const places = isWanted() && (await inTimeSlices(placeSteps(union, opened, layouts), isWanted));
      if (!places) return;
      await placed(places, union);
      if (!isWanted()) return;
      stage.dataset.layout = "ready";
      stage.dataset.layoutMs = (seconds * 1000).toFixed(0);
      part(root, "legend").title = word("graph.layout-time", { time: formatSeconds(seconds) });
      say(refused ? [word("graph.too-many", { n: refused, most: MOST_BOXES })] : []);
    } catch (problem) {
      if (number === request) giveUp(problem);
    } finally {
      clearTimeout(late);
      if (number === request) {
        isBusy = false;
        void load();
      }
    }
  }

  /** @param {unknown} problem */
  function giveUp(problem) {
    const onclick = () => {
      showTable(false);
      asked = "";
      void load();
    };
    const again = el("button", { class: "button", type: "button", onclick }, word("graph.again"));
    say([
      problem instanceof LayoutCancelled ? word("graph.cancelled") : asProblem(problem).message,
      again,
    ]);
    showTable(true);
  }

  function offerCancel() {
    const onclick = () => layouter.stop();
    say([
      word("graph.slow"),
      el("button", { class: "button", type: "button", onclick }, word("graph.cancel")),
    ]);
  }

  /** @param {(string | HTMLElement)[]} content */
  function say(content) {
    notice.hidden = content.length === 0;
    const dismiss = el(
      "button",
      { class: "link-button", type: "button", onclick: () => say([]) },
      word("graph.dismiss"),
    );
    notice.replaceChildren(
      ...content.map((each) => (typeof each === "string" ? el("span", {}, each) : each)),
      dismiss,
    );
  }

  return together(
    state.watch(["parts", "open", "result"], () => void load()),
    () => (request += 1),
    () => layouter.stop(),
  );
}

/**
 * Return the groups to draw open: the requested groups, unless their boxes exceed the limit.
 * @param {Union} union
 * @param {string[]} toggled
 */
function openedOf(union, toggled) {
  const opened = openGroups(union, toggled);
  const n = countBoxes(union, opened);
  return n > MOST_BOXES ? { opened: openGroups(union, []), refused: n } : { opened, refused: 0 };
}
