// The kernels of the program, what they cost on paper and on this machine.
import { clone, el, listen, part, partOf } from "../dom.js";
import { formatBytes, formatFlops, formatSeconds } from "../format.js";
import { selectKernel, selectedKernels, shownKernel } from "../selection.js";
import { together } from "../state.js";
import { word } from "../words.js";
import { mountTable } from "./table.js";

/** @typedef {import("../wire.js").Kernel} Kernel */

/**
 * @param {HTMLElement} root
 * @param {import("../page.js").PageState} state
 * @returns {() => void}
 */
export function mountKernels(root, state) {
  const { result } = state.get();
  if (!result || result.kernels.length === 0) {
    root.replaceChildren(el("p", { class: "pane-empty" }, word("kernel.none")));
    return () => {};
  }
  root.replaceChildren(clone("pane-kernels"));
  const selectedOnly = partOf(root, "selected-only", HTMLInputElement);
  const { kernels } = result;
  const total = kernels.reduce((sum, each) => sum + (each.median_s ?? 0), 0);
  const longest = Math.max(1e-12, ...kernels.map((each) => each.median_s ?? 0));
  const native = kernels.filter((each) => each.native).length;
  part(root, "counts").textContent = word("kernel.counts", {
    n: kernels.length,
    native,
    fallback: kernels.length - native,
  });

  const table = mountTable(part(root, "table"), {
    caption: word("kernel.caption"),
    keyOf: (/** @type {Kernel} */ kernel) => String(kernel.kernel),
    onPick: (kernel) => state.set(selectKernel(kernel)),
    columns: [
      { title: "#", cell: (k) => String(k.kernel), order: (k) => k.kernel, number: true },
      {
        title: word("kernel.name"),
        cell: (k) =>
          el(
            "span",
            {},
            el("button", { class: "link-button mono", type: "button" }, k.name),
            el("br"),
            k.native
              ? el("span", { class: "muted" }, k.words)
              : el(
                  "span",
                  { class: "badge", "data-kind": "fallback", title: k.words },
                  word("kernel.fallback"),
                ),
          ),
        order: (k) => k.name,
        whole: true,
      },
      {
        title: word("kernel.time"),
        cell: (k) => (k.median_s === null ? "–" : formatSeconds(k.median_s)),
        order: (k) => k.median_s ?? -1,
        number: true,
      },
      {
        title: word("kernel.share"),
        cell: (k) => bar((k.median_s ?? 0) / longest, total ? (k.median_s ?? 0) / total : 0),
        order: (k) => k.median_s ?? -1,
        whole: true,
      },
      {
        title: "GF/s",
        cell: (k) => (k.gflops === null ? "–" : k.gflops.toFixed(k.gflops < 10 ? 1 : 0)),
        order: (k) => k.gflops ?? -1,
        number: true,
        hint: word("kernel.gflops"),
      },
      {
        title: word("kernel.work"),
        cell: (k) => formatFlops(k.flops),
        order: (k) => k.flops,
        number: true,
      },
      {
        title: word("kernel.bytes"),
        cell: (k) => formatBytes(k.bytes_read + k.bytes_written),
        order: (k) => k.bytes_read + k.bytes_written,
        number: true,
        hint: word("kernel.bytes-words"),
      },
      {
        title: word("table.origins"),
        cell: (k) =>
          k.origins.length > 3
            ? `${k.origins.slice(0, 3).join(", ")} ${word("n-more", { n: k.origins.length - 3 })}`
            : k.origins.join(", "),
      },
    ],
  });

  function show() {
    table.show(selectedOnly.checked ? selectedKernels(result, state.get().selection) : kernels);
    mark(false);
  }
  function mark(/** @type {boolean} */ scroll) {
    const chosen = new Set([
      ...selectedKernels(result, state.get().selection),
      shownKernel(result, state.get()),
    ]);
    table.mark((kernel) => chosen.has(kernel), scroll);
  }
  show();
  return together(
    table.stop,
    listen(selectedOnly, { change: show }),
    state.watch(["selection", "kernel"], () => (selectedOnly.checked ? show() : mark(true))),
  );
}

/**
 * @param {number} length of the bar, between 0 and 1
 * @param {number} share of all time
 */
function bar(length, share) {
  const element = el("div", { class: "bar", title: `${(share * 100).toFixed(1)} %` });
  element.style.setProperty("--share", length.toFixed(4));
  return element;
}
