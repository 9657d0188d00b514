// The memory planner, the distance of the plan from the lower bound, and the effect of launch order.
import { bindFold } from "../../state/bindings.js";
import { el } from "../../elements/dom.js";
import { formatBytes, formatPercent } from "../../text/format.js";
import { createPainter } from "../../graph/canvas.js";
import { together } from "../../state/state.js";
import { colors } from "../../elements/theme.js";
import { word } from "../../text/words.js";

/**
 * @typedef {import("../../wire.js").Memory} Memory
 * @typedef {import("../../wire.js").LaunchOrder} LaunchOrder
 */

const MARGIN = 4;

/**
 * Fill the section of the memory pane about the planner and the launch order.
 * @param {HTMLElement} root
 * @param {Memory} memory
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountLaunchOrder(root, memory, state) {
  const { planner, order, peak_bytes, lower_bound_bytes } = memory;
  const noGap = lower_bound_bytes > memory.live_peak_bytes ? "memory.no-gap-aligned" : "memory.no-gap";
  const holes = peak_bytes - lower_bound_bytes;
  const sizes = {
    bound: formatBytes(lower_bound_bytes),
    holes: formatBytes(holes),
    share: formatPercent(holes / Math.max(1, peak_bytes)),
  };
  root.append(
    el("p", {}, word(holes > 0 ? "memory.gap" : noGap, sizes)),
  );
  if (planner) {
    const words = word("memory.planner", { name: planner.name, words: firstOf(planner.words) });
    root.append(el("p", { class: "muted" }, words));
  }
  if (!order) return () => {};
  root.append(el("h3", {}, word("order.title")), el("p", {}, sentence(order)));
  if (!order.is_changed) return () => {};
  for (const { name, words } of order.found_by)
    root.append(el("p", { class: "muted" }, word("order.found-by", { name, words: firstOf(words) })));
  const canvas = el("canvas", { role: "img", class: "order-curves", "aria-label": sentence(order) });
  const table = el("details", {}, el("summary", {}, word("order.table")), tableOf(order));
  root.append(
    canvas,
    el(
      "p",
      { class: "muted order-key" },
      el("i", { class: "order-line", "data-kind": "given" }),
      word("order.given", { size: formatBytes(order.given_peak_bytes) }),
      el("i", { class: "order-line" }),
      word("order.found", { size: formatBytes(order.peak_bytes) }),
    ),
    table,
  );
  const painter = createPainter(canvas, (context, size) => {
    const { muted, accent, line } = colors();
    const top = Math.max(order.given_peak_bytes, order.peak_bytes, 1);
    context.clearRect(0, 0, size.width, size.height);
    context.lineWidth = 1;
    context.strokeStyle = line;
    context.strokeRect(0.5, 0.5, size.width - 1, size.height - 1);
    const curve = (/** @type {number[]} */ bytes, /** @type {string} */ color) => {
      context.strokeStyle = color;
      context.beginPath();
      bytes.forEach((each, i) => {
        const y = size.height - MARGIN - (each / top) * (size.height - 2 * MARGIN);
        context.lineTo((i / bytes.length) * size.width, y);
        context.lineTo(((i + 1) / bytes.length) * size.width, y);
      });
      context.stroke();
    };
    context.lineWidth = 1.5;
    context.setLineDash([4, 3]);
    curve(order.given_live_bytes, muted);
    context.setLineDash([]);
    curve(order.live_bytes, accent);
  });
  return together(painter.stop, bindFold(table, state, "order-table"));
}

/** @param {string} words */
function firstOf(words) {
  return words.split("\n\n")[0].replace(/\s+/g, " ");
}

/** @param {LaunchOrder} order */
function sentence(order) {
  const values = {
    before: formatBytes(order.given_peak_bytes),
    after: formatBytes(order.peak_bytes),
    arena_before: formatBytes(order.given_arena_bytes),
    arena_after: formatBytes(order.arena_bytes),
  };
  const key = !order.is_changed ? "order.same" : order.is_taken ? "order.taken" : "order.not-taken";
  const lowest = order.is_lowest ? ` ${word("order.lowest")}` : "";
  return word(key, values) + lowest;
}

/**
 * Create the table with the data of the curves.
 * @param {LaunchOrder} order
 */
function tableOf({ given_live_bytes, live_bytes }) {
  const head = ["order.launch", "order.before", "order.after"];
  return el(
    "table",
    { class: "table" },
    el(
      "thead",
      {},
      el("tr", {}, ...head.map((key) => el("th", { scope: "col", class: "number" }, word(key)))),
    ),
    el(
      "tbody",
      {},
      ...live_bytes.map((bytes, i) =>
        el(
          "tr",
          {},
          ...[String(i), formatBytes(given_live_bytes[i]), formatBytes(bytes)].map((text) =>
            el("td", { class: "number" }, text),
          ),
        ),
      ),
    ),
  );
}
