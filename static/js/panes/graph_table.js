// The drawing as a table: the same nodes, marks and links, for reading aloud and for looking up.
import { closest, el, listen } from "../dom.js";
import { statesOfNodes } from "../graph/scene.js";
import { fallbackNodes } from "../running.js";
import { selectNode, selectedIds } from "../selection.js";
import { together } from "../state.js";
import { word } from "../words.js";

/**
 * @param {HTMLElement} root
 * @param {import("../page.js").PageState} state
 * @returns {() => void}
 */
export function mountGraphTable(root, state) {
  /** @type {Map<string, import("../wire.js").GraphNode>} */
  let nodes = new Map();
  let isOld = true;

  /** Out of sight it is not made: a thousand rows take longer than the drawing. */
  function show() {
    isOld = root.hidden !== false;
    if (root.hidden) return root.replaceChildren();
    const { graph, before, view, result, stage } = state.get();
    if (!graph) return root.replaceChildren();
    const changed = result?.stages[stage]?.changed ?? false;
    const states = statesOfNodes({ before: changed ? before : null, after: graph }, view);
    const fallbacks = fallbackNodes(result?.kernels ?? []);
    nodes = new Map([...states].map(([id, { node }]) => [id, node]));
    const head = ["node", "operator", "type", "mark", "inputs", "origins"].map((key) =>
      el("th", { scope: "col" }, word(`table.${key}`)),
    );
    const rows = [...states].map(([id, { node, status }]) => {
      const row = el(
        "tr",
        { "data-status": status },
        el(
          "td",
          {},
          el(
            "button",
            { class: "link-button mono", type: "button" },
            node.kind === "result" ? node.name : id,
          ),
        ),
        el(
          "td",
          {},
          node.op,
          fallbacks.has(id)
            ? el(
                "div",
                {},
                el("span", { class: "badge", "data-kind": "fallback" }, word("kernel.fallback")),
              )
            : null,
        ),
        el("td", { class: "mono" }, node.types.join(", ")),
        el(
          "td",
          {},
          status === "same"
            ? ""
            : el("span", { class: "badge", "data-kind": status }, word(`mark.${status}`)),
        ),
        el("td", { class: "mono wrap" }, node.inputs.filter(Boolean).join(", ")),
        el("td", { class: "wrap" }, node.origins.join(", ")),
      );
      row.dataset.node = id;
      return row;
    });
    root.replaceChildren(
      el(
        "table",
        { class: "table" },
        el("caption", {}, word("table.caption", { n: states.size })),
        el("thead", {}, el("tr", {}, ...head)),
        el("tbody", {}, ...rows),
      ),
    );
    mark();
  }

  function mark() {
    const ids = selectedIds(nodes.values(), state.get());
    for (const row of root.querySelectorAll("[data-node]")) {
      const selected = ids.has(/** @type {HTMLElement} */ (row).dataset.node ?? "");
      row.toggleAttribute("data-selected", selected);
      if (selected) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }

  return together(
    listen(root, {
      click: (event) => {
        const node = nodes.get(closest(event, "[data-node]")?.dataset.node ?? "");
        if (node) state.set(selectNode(node));
      },
    }),
    state.watch(["graph", "before", "view", "result"], show),
    observeHidden(root, () => isOld && !root.hidden && show()),
    state.watch(["selection", "at"], mark),
  );
}

/**
 * @param {HTMLElement} root
 * @param {() => void} changed called when the element was hidden or shown
 * @returns {() => void}
 */
function observeHidden(root, changed) {
  const observer = new MutationObserver(changed);
  observer.observe(root, { attributes: true, attributeFilter: ["hidden"] });
  return () => observer.disconnect();
}
