// The kernels of the selection with their inner kernels, and the buffers of the selection.
import { el } from "../../elements/dom.js";
import { formatBytes, formatFlops, formatSeconds } from "../../text/format.js";
import { inPlace } from "../../results/in_place.js";
import { selectedBuffers, selectedKernels } from "../../state/selection.js";
import { word } from "../../text/words.js";

/** @typedef {import("../../state/page.js").Page} Page */

/**
 * Return the kernels and buffers of the selection, with times.
 * @param {Page} page
 * @returns {HTMLElement[]}
 */
export function madeOf({ result, provenance, selection, at, graph }) {
  const kernels = selectedKernels(result, selection);
  const chosen = new Set(kernels.map((each) => each.kernel));
  const inside = (result?.kernels ?? []).filter(
    (each) =>
      each.inside !== null && !chosen.has(each.kernel) && (each.node === at || chosen.has(each.inside)),
  );
  const buffers = selectedBuffers(provenance, selection);
  const found = (result?.memory?.buffers ?? []).filter((each) => buffers.has(each.buffer));
  if (kernels.length === 0 && found.length === 0) return [];
  const node = kernels.length === 0 ? graph?.nodes.find(({ id }) => id === at) : undefined;
  const how = node ? inPlace(node, found) : "";
  return [
    el(
      "section",
      { class: "section" },
      el("h3", {}, word("node.made-of")),
      how ? el("p", { class: "muted" }, word(`in-place.${how}`)) : null,
      el("ul", { class: "value-list" }, ...kernels.map((each) => kernelItem(each, at))),
      ...(inside.length
        ? [
            el("p", { class: "muted" }, word("node.inside", { n: inside.length })),
            el("ul", { class: "value-list value-list-inside" }, ...inside.map((each) => kernelItem(each, at))),
          ]
        : []),
      el("ul", { class: "value-list" }, ...found.map(bufferItem)),
    ),
  ];
}

/**
 * @param {import("../../wire.js").Kernel} kernel
 * @param {string} at the node in focus, which shows its own reason for a fallback
 */
function kernelItem(kernel, at) {
  const button = (/** @type {string} */ pane, /** @type {string} */ text, mono = "") =>
    el(
      "button",
      {
        class: `link-button${mono}`,
        type: "button",
        "data-kernel": String(kernel.kernel),
        "data-pane": pane,
      },
      text,
    );
  return el(
    "li",
    {},
    kernel.region ? el("span", { class: "muted" }, kernel.region) : null,
    button("kernels", kernel.name, " mono"),
    el(
      "span",
      { class: "badge", "data-kind": kernel.native ? "native" : "fallback" },
      word(kernel.native ? "kernel.native" : "kernel.fallback"),
    ),
    kernel.flops ? el("span", { class: "muted" }, formatFlops(kernel.flops)) : null,
    kernel.median_s !== null ? el("strong", {}, formatSeconds(kernel.median_s)) : null,
    ...kernel.parts
      .filter((each) => each === "loops" || each === "asm")
      .map((each) => button(each, word(`pane.${each}`))),
    kernel.native || kernel.node === at
      ? null
      : el("p", { class: "value-because" }, kernel.words),
  );
}

/** @param {import("../../wire.js").Buffer} buffer */
function bufferItem(buffer) {
  return el(
    "li",
    {},
    el(
      "button",
      { class: "link-button mono", type: "button", "data-pane": "memory" },
      buffer.name,
    ),
    el(
      "span",
      { class: "muted" },
      word("node.buffer", {
        size: formatBytes(buffer.size),
        offset: formatBytes(buffer.offset),
        start: buffer.start,
        end: buffer.end,
      }),
    ),
  );
}
