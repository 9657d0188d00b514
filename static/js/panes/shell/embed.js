// An embedded view: the drawing, a slider for the passes, and a pane, initially the pane of the link. If only one
// of both fits, other sites first show the drawing, and this site's own pages first show the pane.
import { clone, closest, listen, part, partOf } from "../../elements/dom.js";
import { nextStage, stageTitle } from "../../results/stages.js";
import { together } from "../../state/state.js";
import { PLACE_KEYS, toFragment } from "../../state/url.js";
import { word } from "../../text/words.js";
import { mountGraph } from "../graph/graph.js";
import { PANES, mountPane, panesOf } from "../index.js";
import { mountAbsent } from "./absent.js";

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {import("../../graph/layout.js").Layouter} layouter
 * @param {import("../../jobs/finding.js").Requests | null} own requests of a view in this site's own pages, else null
 * @returns {() => void}
 */
export function mountEmbed(root, state, layouter, own) {
  root.replaceChildren(clone("embed"));
  const embed = part(root, "embed");
  if (own) show(embed, "pane");
  part(root, "model").textContent = state.get().result?.model.name ?? "";
  const slider = partOf(root, "slider", HTMLInputElement);
  let stopPane = () => {};
  let isFirst = true;
  const go = (/** @type {1 | -1} */ by) => {
    const { result, stage } = state.get();
    if (result) state.set({ stage: nextStage(result.stages, stage, by, false) });
  };

  /** Show the pane of the state: first the pane of the link, then the panes to which it leads. */
  function showPane() {
    const page = state.get();
    const shown = panesOf(page);
    const gone = PANES.find((each) => each.id === page.pane && "finds" in each && !shown.includes(each));
    const pane = gone ?? shown.find(({ id }) => id === page.pane) ?? shown[0];
    for (const name of ["pane-name", "pane-title"]) part(root, name).textContent = word(`pane.${pane.id}`);
    stopPane();
    const place = part(root, "pane");
    place.replaceChildren();
    stopPane =
      gone && "finds" in gone
        ? mountAbsent(place, state, gone.kind, own, showPane, isFirst)
        : mountPane(pane, place, state);
    isFirst = false;
  }

  return together(
    mountGraph(part(root, "graph"), state, layouter).stop,
    () => stopPane(),
    state.watch(["pane"], showPane),
    listen(slider, { input: () => state.set({ stage: Number(slider.value) }) }),
    listen(part(root, "previous"), { click: () => go(-1) }),
    listen(part(root, "next"), { click: () => go(1) }),
    listen(part(root, "switch"), {
      click: (event) => show(embed, closest(event, "[data-shows]")?.dataset.shows),
    }),
    state.watch(["stage", "result"], ({ stage, result }) => {
      if (!result) return;
      const shown = result.stages[stage];
      const { pass_number: at, name } = shown;
      slider.max = String(result.stages.length - 1);
      slider.value = String(stage);
      const says = at === null ? stageTitle(shown) : word("embed.pass", { at, of: result.passes.n_passes, name });
      slider.setAttribute("aria-valuetext", says);
      part(root, "pass").textContent = says;
      embed.dataset.stage = String(stage);
    }),
    // The link opens the full page in the current state of the view.
    state.watch(PLACE_KEYS, (page) => {
      const link = /** @type {HTMLAnchorElement} */ (part(root, "open"));
      link.href = `/#${toFragment(page)}`;
    }),
  );
}

/**
 * @param {HTMLElement} embed
 * @param {string | undefined} what
 */
function show(embed, what) {
  if (!what) return;
  embed.dataset.shows = what;
  for (const button of embed.querySelectorAll("[data-part=switch] button"))
    button.setAttribute("aria-pressed", String(button.getAttribute("data-shows") === what));
}
