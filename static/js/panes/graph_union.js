// The places of all nodes: asks for the union, has it laid out, and says what happens meanwhile.
import { asProblem } from "../compile.js";
import { el, part } from "../dom.js";
import { formatSeconds } from "../format.js";
import { LayoutCancelled } from "../graph/layout.js";
import { placeUnion } from "../graph/scene.js";
import { together } from "../state.js";
import { word } from "../words.js";

/** @typedef {import("../graph/scene.js").Places} Places */

const NOTICE_AFTER_MS = 2500;

/**
 * @param {HTMLElement} root of the graph
 * @param {import("../page.js").PageState} state
 * @param {import("../graph/layout.js").Layouter} layouter
 * @param {{placed: (places: Places | null) => void, showTable: (on: boolean) => void}} hooks
 * @returns {() => void}
 */
export function mountUnion(root, state, layouter, { placed, showTable }) {
  const stage = part(root, "stage");
  const notice = part(root, "notice");
  let request = 0;
  /** What was asked for last: the groups that are open, and how many stages there were. */
  let asked = "";
  /** @type {import("../api.js").Parts | null} the job that is drawn */
  let drawn = null;
  let isBusy = false;

  async function load() {
    const { parts, open, result } = state.get();
    const stages = result?.stages.length ?? 0;
    const wanted = JSON.stringify([open, stages]);
    if (parts === drawn && wanted === asked) return;
    // A first graph soon is worth more than all stages at once: they come when it is drawn.
    if (isBusy && parts === drawn && asked.startsWith(JSON.stringify([open]).slice(0, -1))) return;
    const number = ++request;
    delete stage.dataset.layout;
    // While groups are opened, or a running job gets more stages, the drawing stays.
    if (parts !== drawn) placed(null);
    [drawn, asked] = [parts, wanted];
    if (!parts || stages === 0) return;
    isBusy = true;
    say([]);
    const late = setTimeout(() => number === request && offerCancel(), NOTICE_AFTER_MS);
    try {
      const union = await parts.union(open, stages);
      if (number !== request) return;
      const { layout, seconds } = await layouter.layout(union.dot).promise;
      if (number !== request) return;
      stage.dataset.layout = "ready";
      stage.dataset.layoutMs = (seconds * 1000).toFixed(0);
      part(root, "legend").title = word("graph.layout-time", { time: formatSeconds(seconds) });
      say(
        union.collapsed
          ? [word("graph.collapsed", { n: union.n_nodes, drawn: union.n_drawn })]
          : [],
      );
      placed(placeUnion(union, layout));
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
