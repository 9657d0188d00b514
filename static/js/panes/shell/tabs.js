// Two rows of tabs (the groups of panes, and the panes of a group), with the mounted pane below.
import { closest, el, listen, part } from "../../elements/dom.js";
import { together } from "../../state/state.js";
import { nextTask } from "../../elements/scheduling.js";
import { word } from "../../text/words.js";
import { mountPane, panesOf } from "../index.js";

/**
 * @param {HTMLElement} side holds the rows (`groups`, `tabs`) and the pane (`pane`)
 * @param {import("../../state/page.js").PageState} state
 * @returns {{stop: () => void, actions: Record<string, () => void>}}
 */
export function mountTabs(side, state) {
  const panes = panesOf(state.get());
  const names = [...new Set(panes.map(({ group }) => group))];
  const rowOf = (/** @type {string} */ group) => panes.filter((pane) => pane.group === group);
  const [groups, tabs, root] = ["groups", "tabs", "pane"].map((name) => part(side, name));
  /** The last open pane of each group. @type {Record<string, string>} */
  const last = Object.fromEntries(
    names.map((group) => [group, panes.find((pane) => pane.group === group)?.id ?? ""]),
  );
  const shown = () => panes.find(({ id }) => id === state.get().pane) ?? panes[0];
  const open = (/** @type {string | undefined} */ pane) => pane && state.set({ pane });
  let stopPane = () => {};
  let request = 0;
  /** The scroll position, as reported by events; querying it would force a layout. */
  let scrolledTo = 0;
  /** @type {import("../../wire.js").Result | null} */
  let told = null;
  groups.append(...names.map(groupButton));

  function mountShown() {
    const pane = shown();
    root.setAttribute("aria-labelledby", `tab-${pane.id}`);
    // If the same pane shows a larger result, its scroll position is restored.
    const was = root.dataset.pane;
    const [scrolled, to] = [scrolledTo, was === pane.id ? scrolledTo : 0];
    root.dataset.pane = pane.id;
    root.replaceChildren();
    if (state.get().result) stopPane = mountPane(pane, root, state);
    if (scrolled > 0) root.scrollTop = to;
  }

  const stop = together(
    listen(root, { scroll: () => (scrolledTo = root.scrollTop) }, { passive: true }),
    listen(groups, {
      click: (event) => open(last[closest(event, "[data-group]")?.dataset.group ?? ""]),
    }),
    listen(tabs, {
      click: (event) => open(closest(event, "[data-pane]")?.dataset.pane),
      keydown: (event) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[/** @type {string} */ (event.key)];
        if (!by) return;
        event.preventDefault();
        open(after(rowOf(shown().group), shown(), by).id);
        document.getElementById(`tab-${shown().id}`)?.focus();
      },
    }),
    state.watch(["pane"], () => {
      last[shown().group] = shown().id;
      mark(groups, tabs, shown(), rowOf(shown().group));
    }),
    state.watch(["pane", "result"], async ({ result }) => {
      stopPane();
      stopPane = () => {};
      const number = ++request;
      // The pane is mounted in a separate task, after the other updates.
      if (result !== told) await nextTask();
      if (number !== request) return;
      told = result;
      mountShown();
    }),
    () => (request += 1),
    () => stopPane(),
  );
  return {
    stop,
    actions: {
      "next-pane": () => open(after(panes, shown(), 1).id),
      "previous-pane": () => open(after(panes, shown(), -1).id),
    },
  };
}

/**
 * @template T
 * @param {readonly T[]} row
 * @param {T} one
 * @param {number} by
 */
function after(row, one, by) {
  return row[(row.indexOf(one) + by + row.length) % row.length];
}

/** @param {string} group */
function groupButton(group) {
  return el("button", { type: "button", "data-group": group }, word(`pane-group.${group}`));
}

/** @param {import("../index.js").Pane} pane */
function tab({ id }) {
  const title = word(`pane-title.${id}`);
  return el(
    "button",
    { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": "pane", "data-pane": id, title },
    word(`pane.${id}`),
  );
}

/**
 * Show the row of the pane's group and mark the pane in it.
 * @param {HTMLElement} groups
 * @param {HTMLElement} tabs
 * @param {import("../index.js").Pane} pane
 * @param {readonly import("../index.js").Pane[]} row panes of the group
 */
function mark(groups, tabs, pane, row) {
  if (tabs.dataset.group !== pane.group) {
    tabs.dataset.group = pane.group;
    tabs.setAttribute("aria-label", word(`pane-group.${pane.group}`));
    tabs.classList.toggle("visually-hidden", row.length === 1);
    tabs.replaceChildren(...row.map(tab));
  }
  for (const button of groups.querySelectorAll("button"))
    button.setAttribute("aria-pressed", String(button.dataset.group === pane.group));
  for (const each of /** @type {NodeListOf<HTMLElement>} */ (tabs.querySelectorAll("[role=tab]"))) {
    const selected = each.dataset.pane === pane.id;
    each.setAttribute("aria-selected", String(selected));
    each.tabIndex = selected ? 0 : -1;
  }
}
