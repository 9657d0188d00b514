// The drawing as a table: the same nodes, marks and links, for screen readers and for reference.
import { breakNames } from "../../elements/breaks.js";
import { closest, el, listen } from "../../elements/dom.js";
import { formatCount } from "../../text/format.js";
import { nameOf, valueOf } from "../../graph/labels.js";
import { statesOfNodes } from "../../graph/scene.js";
import { fallbackNodes } from "../../results/running.js";
import { selectNode, selectedIds } from "../../state/selection.js";
import { inSlices } from "../../elements/slices.js";
import { differs } from "../../results/snapshots.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";

/** Maximum number of rows per part of the table; the browser lays out only visible parts. */
const WHOLE = 500;

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountGraphTable(root, state) {
  /** @type {Map<string, import("../../wire.js").GraphNode>} */
  let nodes = new Map();
  let isOld = true;

  /** @type {Map<string, string>} reasons for fallbacks to the reference, by node */
  let fallbacks = new Map();
  let stopMaking = () => {};
  let hasMarks = false;

  /** Build the table only when visible: a thousand rows take longer than the drawing. */
  function show() {
    isOld = root.hidden !== false;
    stopMaking();
    const scrolled = root.hidden ? 0 : root.scrollTop;
    root.replaceChildren();
    const { graph, before, view, result, stage, base } = state.get();
    if (root.hidden || !graph) return;
    const changed = differs(result?.stages ?? [], stage, base);
    const states = [...statesOfNodes({ before: changed ? before : null, after: graph }, view)];
    hasMarks = states.some(([, { status }]) => status !== "same");
    fallbacks = fallbackNodes(result?.kernels ?? []);
    nodes = new Map(states.map(([id, { node }]) => [id, node]));
    const n = states.length;
    if (n <= WHOLE) return put(states, word("table.caption", { n }));
    stopMaking = inSlices(n, (start, end) => {
      put(states.slice(start, end), word("table.part", { start: start + 1, end, count: formatCount(n) }));
      if (scrolled > root.scrollTop) root.scrollTop = scrolled;
    });
  }

  /** @param {[string, import("../../graph/scene.js").NodeState][]} states @param {string} caption */
  function put(states, caption) {
    const body = el("tbody", {}, ...states.map(([id, state]) => row(id, state, fallbacks.has(id), hasMarks, nodes)));
    const table = el("table", { class: "table" }, el("caption", {}, caption), head(hasMarks), body);
    root.append(nodes.size > WHOLE ? el("div", { class: "table-part" }, table) : table);
    mark(body);
  }

  /** @param {HTMLElement} rows */
  function mark(rows = root) {
    const ids = selectedIds(nodes.values(), state.get());
    for (const each of /** @type {NodeListOf<HTMLElement>} */ (rows.querySelectorAll("[data-node]"))) {
      const selected = ids.has(each.dataset.node ?? "");
      each.toggleAttribute("data-selected", selected);
      if (selected) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
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
    state.watch(["selection", "at"], () => mark()),
    () => stopMaking(),
  );
}

/** @param {boolean} hasMarks */
function head(hasMarks) {
  const titles = ["node", "operator", "type", ...(hasMarks ? ["mark"] : []), "inputs", "origins"];
  const cells = titles.map((key) => el("th", { scope: "col" }, word(`table.${key}`)));
  return el("thead", {}, el("tr", {}, ...cells));
}

/**
 * @param {string} id
 * @param {import("../../graph/scene.js").NodeState} state
 * @param {boolean} isFallback
 * @param {boolean} hasMarks whether the table has the column Mark
 * @param {Map<string, import("../../wire.js").GraphNode>} nodes by id
 */
function row(id, { node, status }, isFallback, hasMarks, nodes) {
  const button = el("button", { class: "link-button mono", type: "button" }, valueOf(node));
  const badge = el("span", { class: "badge", "data-kind": "fallback" }, word("kernel.fallback"));
  const made = el(
    "tr",
    { "data-status": status },
    el("td", { class: "wrap" }, button, ...insideOf(node, nodes)),
    el("td", {}, node.op, isFallback ? el("div", {}, badge) : null),
    el("td", { class: "mono" }, node.types.join(", ")),
    hasMarks
      ? el(
          "td",
          {},
          status === "same" ? "" : el("span", { class: "badge", "data-kind": status }, word(`mark.${status}`)),
        )
      : null,
    el("td", { class: "mono wrap" }, node.inputs.filter(Boolean).join(", ")),
    el("td", { class: "wrap" }, node.origins.join(", ")),
  );
  made.dataset.node = id;
  return breakNames(made);
}

/**
 * Return the line that names the body of a node; nothing outside all bodies.
 * @param {import("../../wire.js").GraphNode} node
 * @param {Map<string, import("../../wire.js").GraphNode>} nodes by id
 */
function insideOf({ inside }, nodes) {
  if (!inside) return [];
  const [id, region] = inside;
  const around = nodes.get(id);
  const node = around ? nameOf(around) : id;
  return [el("div", { class: "muted" }, word("table.inside", { node, region }))];
}

/**
 * @param {HTMLElement} root
 * @param {() => void} changed called when the element is hidden or shown
 * @returns {() => void}
 */
function observeHidden(root, changed) {
  const observer = new MutationObserver(changed);
  observer.observe(root, { attributes: true, attributeFilter: ["hidden"] });
  return () => observer.disconnect();
}
