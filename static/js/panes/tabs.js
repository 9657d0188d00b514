// The row of tabs, and the one pane that is mounted below it.
import { closest, el, listen } from "../dom.js";
import { together } from "../state.js";
import { word } from "../words.js";
import { PANES } from "./index.js";

/**
 * @param {HTMLElement} tabs
 * @param {HTMLElement} root
 * @param {import("../page.js").PageState} state
 * @returns {{stop: () => void, actions: Record<string, () => void>}}
 */
export function mountTabs(tabs, root, state) {
  let stopPane = () => {};
  let last = "";
  for (const { id, group } of PANES) {
    // The levels of a kernel's code have a row of their own, in the order of lowering.
    if (group === "code")
      tabs.append(
        el(
          "span",
          { class: group === last ? "tabs-arrow" : "tabs-row", "aria-hidden": "true" },
          group === last ? "›" : "",
        ),
      );
    else if (last && group !== last)
      tabs.append(el("span", { class: "tabs-gap", "aria-hidden": "true" }));
    last = group;
    tabs.append(
      el(
        "button",
        { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": "pane", "data-pane": id },
        word(`pane.${id}`),
      ),
    );
  }
  const index = () =>
    Math.max(
      0,
      PANES.findIndex((each) => each.id === state.get().pane),
    );
  const move = (/** @type {number} */ by) =>
    state.set({ pane: PANES[(index() + by + PANES.length) % PANES.length].id });

  const stop = together(
    listen(tabs, {
      click: (event) => {
        const pane = closest(event, "[data-pane]")?.dataset.pane;
        if (pane) state.set({ pane });
      },
      keydown: (event) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[/** @type {string} */ (event.key)];
        if (!by) return;
        event.preventDefault();
        move(by);
        document.getElementById(`tab-${PANES[index()].id}`)?.focus();
      },
    }),
    state.watch(["pane", "result"], ({ result }) => {
      stopPane();
      stopPane = () => {};
      const pane = PANES[index()];
      for (const each of /** @type {NodeListOf<HTMLElement>} */ (
        tabs.querySelectorAll("[role=tab]")
      )) {
        const selected = each.dataset.pane === pane.id;
        each.setAttribute("aria-selected", String(selected));
        each.tabIndex = selected ? 0 : -1;
      }
      root.setAttribute("aria-labelledby", `tab-${pane.id}`);
      // The same pane again: the result has grown while one was reading.
      const scrolled = root.dataset.pane === pane.id ? root.scrollTop : 0;
      root.dataset.pane = pane.id;
      root.replaceChildren();
      if (result) stopPane = pane.mount(root, state);
      root.scrollTop = scrolled;
    }),
    () => stopPane(),
  );
  return { stop, actions: { "next-pane": () => move(1), "previous-pane": () => move(-1) } };
}
