// An embedded view: the drawing, a slider for the passes, and a pane, initially the pane of the link. If only one
// of both fits, other sites first show the drawing, and this site's own pages first show the pane.
import { clone, closest, el, listen, part, partOf } from "../../elements/dom.js";
import { nextStage, stageTitle } from "../../results/stages.js";
import { together } from "../../state/state.js";
import { PLACE_KEYS, toFragment } from "../../state/url.js";
import { word } from "../../text/words.js";
import { mountGraph } from "../graph/graph.js";
import { PANES, mountPane, panesOf } from "../index.js";

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {import("../../graph/layout.js").Layouter} layouter
 * @param {boolean} isOwn whether a page of this site shows the view
 * @returns {() => void}
 */
export function mountEmbed(root, state, layouter, isOwn) {
  root.replaceChildren(clone("embed"));
  const embed = part(root, "embed");
  if (isOwn) show(embed, "pane");
  part(root, "model").textContent = state.get().result?.model.name ?? "";
  const slider = partOf(root, "slider", HTMLInputElement);
  const shown = panesOf(state.get());
  let stopPane = () => {};
  const go = (/** @type {1 | -1} */ by) => {
    const { result, stage } = state.get();
    if (result) state.set({ stage: nextStage(result.stages, stage, by, false) });
  };
  return together(
    mountGraph(part(root, "graph"), state, layouter).stop,
    () => stopPane(),
    // The view has the pane of the link, and the panes to which that pane leads.
    state.watch(["pane"], (page) => {
      const gone = PANES.find((each) => each.id === page.pane && "finds" in each && !shown.includes(each));
      const pane = gone ?? shown.find(({ id }) => id === page.pane) ?? shown[0];
      for (const name of ["pane-name", "pane-title"])
        part(root, name).textContent = word(`pane.${pane.id}`);
      stopPane();
      stopPane = () => {};
      part(root, "pane").replaceChildren(
        ...(gone ? [el("p", { class: "pane-empty" }, word(isOwn ? "embed.own-job" : "embed.gone"))] : []),
      );
      if (!gone) stopPane = mountPane(pane, part(root, "pane"), state);
    }),
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
