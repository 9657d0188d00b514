// Summary above the kernels: the partition of a run into generated code and the reference, each
// fallback with the reason, and the code generated at run time.
import { el } from "../../elements/dom.js";
import { formatCount, formatPercent, formatSeconds, unbroken } from "../../text/format.js";
import { fallbacksByReason, placeName } from "../../results/running.js";
import { word } from "../../text/words.js";

/**
 * @typedef {import("../../wire.js").Kernel} Kernel
 * @typedef {import("../../wire.js").Running} Running
 */

/** Maximum number of kernels named per reason. */
const NAMED = 8;

/**
 * @param {Running} running
 * @param {Kernel[]} kernels
 * @returns {HTMLElement[]}
 */
export function runningSummary(running, kernels) {
  return [
    divided(running),
    ...(running.n_fallback ? [fallbacks(running, kernels)] : []),
    ...(running.notes.length || running.specializations.length ? [made(running)] : []),
  ];
}

/** @param {Running} running */
function divided(running) {
  const { n_native: native, n_fallback: fallback, n_inside: inside } = running;
  const lines = [
    fallback === 0
      ? word("running.all-native", { n: native, count: formatCount(native) })
      : word("running.divided", { n: running.n_crossings, native, fallback }),
    inside ? word("running.inside", { n: inside }) : "",
    fallback ? nativeShare(running) : "",
  ];
  return el("p", { class: "running-line" }, lines.filter(Boolean).join(" "));
}

/** @param {Running} running */
function nativeShare({ native_share: share, n_uncounted: n }) {
  if (n) return word("running.uncounted", { n });
  return share === null ? "" : word("running.flops", { share: formatPercent(share) });
}

/**
 * @param {Running} running
 * @param {Kernel[]} kernels
 */
function fallbacks({ n_fallback: n }, kernels) {
  return el(
    "section",
    { class: "running-part" },
    el("h3", {}, word("running.fallbacks", { n })),
    el(
      "ul",
      { class: "running-list" },
      ...fallbacksByReason(kernels).map(({ because, kernels: those }) =>
        el(
          "li",
          {},
          el("span", { class: "fallback-swatch", "aria-hidden": "true" }),
          el(
            "div",
            {},
            el("p", { class: "running-because" }, unbroken(because)),
            el(
              "p",
              { class: "running-nodes" },
              ...those.slice(0, NAMED).map(kernelButton),
              those.length > NAMED ? word("n-more", { n: those.length - NAMED }) : null,
            ),
          ),
        ),
      ),
    ),
  );
}

/** @param {Kernel} kernel */
export function kernelButton(kernel) {
  return el(
    "button",
    { class: "link-button mono", type: "button", "data-kernel": String(kernel.kernel) },
    placeName(kernel),
  );
}

/** @param {Running} running */
function made({ notes, specializations }) {
  return el(
    "section",
    { class: "running-part" },
    el("h3", {}, word("running.made")),
    el(
      "ul",
      { class: "running-list" },
      ...notes.map((note) => el("li", {}, el("p", {}, note))),
      ...specializations.map(({ because, seconds }) =>
        el(
          "li",
          {},
          el("span", { class: "number" }, formatSeconds(seconds)),
          el("p", { class: "running-because" }, unbroken(because)),
        ),
      ),
    ),
  );
}
