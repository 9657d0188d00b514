// The kernels of the program, with predicted and measured costs.
import { bindButtons, bindSwitch, isOn, watchSwitch } from "../../state/bindings.js";
import { clone, closest, el, listen, part, partOf } from "../../elements/dom.js";
import { formatBytes, formatCount, formatFlops, formatPercent, formatRate, formatSeconds } from "../../text/format.js";
import { nested, whyNone } from "../../results/running.js";
import { selectKernel, selectedKernels, shownKernel } from "../../state/selection.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { runningSummary } from "../times/running.js";
import { mountTable } from "../shell/table.js";

/**
 * @typedef {import("../../wire.js").Kernel} Kernel
 * @typedef {{kernel: Kernel, depth: number}} Row
 */

const SIDES = /** @type {const} */ ({
  all: () => true,
  native: (/** @type {Kernel} */ kernel) => kernel.native,
  fallback: (/** @type {Kernel} */ kernel) => !kernel.native,
});

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountKernels(root, state) {
  const { result } = state.get();
  if (!result || result.kernels.length === 0) {
    root.replaceChildren(el("p", { class: "pane-empty" }, result ? word(whyNone(result)) : ""));
    return () => {};
  }
  root.replaceChildren(clone("pane-kernels"));
  const selectedOnly = partOf(root, "selected-only", HTMLInputElement);
  const sides = part(root, "sides");
  const summary = part(root, "summary");
  const { kernels } = result;
  if (result.running) summary.replaceChildren(...runningSummary(result.running, kernels));
  for (const each of sides.querySelectorAll("button")) {
    const n = kernels.filter(SIDES[/** @type {keyof typeof SIDES} */ (each.dataset.side)]).length;
    part(each, "n").textContent = formatCount(n);
  }

  const table = mountTable(part(root, "table"), state, {
    name: "kernels",
    caption: word("kernel.caption"),
    keyOf: (/** @type {Row} */ { kernel }) => String(kernel.kernel),
    onPick: ({ kernel }) => state.set(selectKernel(kernel)),
    originsOf: ({ kernel }) => kernel.origins,
    columns: columnsOf(kernels),
  });

  function show() {
    const { selection, kernels: side } = state.get();
    const listed = isOn(state, "kernels-selected") ? selectedKernels(result, selection) : kernels;
    table.show(nested(listed.filter(SIDES[side])));
    mark(true);
  }
  function mark(/** @type {boolean} */ scroll) {
    const chosen = new Set([
      ...selectedKernels(result, state.get().selection),
      shownKernel(result, state.get()),
    ]);
    table.mark(({ kernel }) => chosen.has(kernel), scroll);
  }
  return together(
    table.stop,
    bindSwitch(selectedOnly, state, "kernels-selected"),
    bindButtons(sides, state, "kernels", "side"),
    state.watch(["kernels"], show),
    watchSwitch(state, "kernels-selected", show),
    listen(summary, {
      click: (event) => {
        const number = closest(event, "[data-kernel]")?.dataset.kernel;
        const kernel = kernels.find((each) => String(each.kernel) === number);
        if (kernel) state.set(selectKernel(kernel));
      },
    }),
    state.watch(["selection", "kernel"], () => (isOn(state, "kernels-selected") ? show() : mark(true))),
  );
}

/**
 * @param {Kernel[]} kernels
 * @returns {import("../shell/table.js").Column<Row>[]}
 */
function columnsOf(kernels) {
  const total = kernels.reduce((sum, each) => sum + (each.median_s ?? 0), 0);
  const longest = Math.max(1e-12, ...kernels.map((each) => each.median_s ?? 0));
  return [
    {
      id: "number",
      title: "#",
      cell: ({ kernel: k }) => String(k.kernel),
      order: ({ kernel: k }) => k.kernel,
      number: true,
    },
    {
      id: "name",
      title: word("kernel.name"),
      cell: nameCell,
      order: ({ kernel: k }) => k.name,
      whole: true,
    },
    {
      id: "time",
      title: word("kernel.time"),
      cell: ({ kernel: k }) => (k.median_s === null ? "–" : formatSeconds(k.median_s)),
      order: ({ kernel: k }) => k.median_s ?? -1,
      number: true,
    },
    {
      id: "share",
      title: word("kernel.share"),
      hint: word("kernel.share-words"),
      cell: ({ kernel: k }) =>
        k.median_s === null ? "" : bar(k.median_s / longest, total ? k.median_s / total : 0),
      order: ({ kernel: k }) => k.median_s ?? -1,
      whole: true,
    },
    {
      id: "gflops",
      title: word("roofline.rate"),
      cell: ({ kernel: k }) => (k.gflops && k.flops ? formatRate(k.gflops * 1e9) : "–"),
      order: ({ kernel: k }) => k.gflops ?? -1,
      number: true,
      hint: word("kernel.gflops"),
    },
    {
      id: "work",
      title: word("kernel.work"),
      cell: ({ kernel: k }) => (k.native || k.flops ? formatFlops(k.flops) : "–"),
      order: ({ kernel: k }) => k.flops,
      number: true,
    },
    {
      id: "bytes",
      title: word("kernel.bytes"),
      cell: ({ kernel: k }) => formatBytes(k.bytes),
      order: ({ kernel: k }) => k.bytes,
      number: true,
      hint: word("kernel.bytes-words"),
    },
    {
      id: "origins",
      title: word("table.origins"),
      cell: ({ kernel: k }) =>
        k.origins.length > 3
          ? `${k.origins.slice(0, 3).join(", ")} ${word("n-more", { n: k.origins.length - 3 })}`
          : k.origins.join(", "),
    },
  ];
}

/**
 * Create a cell with a kernel's name and description; kernels inside a launch are indented, with their region.
 * @param {Row} row
 */
function nameCell({ kernel: k, depth }) {
  const cell = el(
    "div",
    { class: "kernel-name" },
    el("button", { class: "link-button mono", type: "button" }, k.name),
    k.native
      ? el("span", { class: "muted" }, [k.region, k.words].filter(Boolean).join(": "))
      : el("span", { class: "badge", "data-kind": "fallback" }, word("kernel.fallback")),
    k.native ? null : el("span", { class: "kernel-because" }, k.words),
  );
  cell.style.setProperty("--depth", String(depth));
  if (depth) cell.dataset.inside = "";
  return cell;
}

/**
 * @param {number} length length of the bar, between 0 and 1
 * @param {number} share share of the total time
 */
function bar(length, share) {
  const element = el("div", { class: "bar" });
  element.style.setProperty("--share", length.toFixed(4));
  return el("div", { class: "bar-share" }, element, el("span", { class: "number" }, formatPercent(share)));
}
