// Errors of the stages on a logarithmic axis; a row has a button, a track with marks, and a number.
import { el } from "../../elements/dom.js";
import { axisOf, shareOf, shownStages, ticksOf } from "../../charts/errors_axis.js";
import { formatError } from "../../text/format.js";
import { word } from "../../text/words.js";

/**
 * @typedef {import("../../charts/errors_axis.js").Axis} Axis
 * @typedef {import("../../wire.js").CheckedRun} CheckedRun
 */

/** Margin at both ends of the axis without labels, to avoid overlaps. */
const ROOM = 0.16;

/**
 * @param {import("../../wire.js").Numerics} found
 * @param {number} stage the current stage
 * @returns {HTMLElement[]}
 */
export function plotOf(found, stage) {
  const axis = axisOf(found);
  const { rows, program, allowed } = found;
  return [
    axisLine(axis, allowed),
    ...shownStages(rows, stage).flatMap((row) => {
      const name = row.stage === 0 ? word("passes.imported") : row.name;
      const here = row.stage === stage;
      const button = el(
        "button",
        { type: "button", class: "link-button mono numerics-name", "aria-current": here ? "step" : null },
        name,
      );
      button.dataset.stage = String(row.stage);
      return [button, track(axis, allowed, row, row.has_moved), figures(row, row.has_moved)];
    }),
    ...(program
      ? [
          el("span", { class: "numerics-name" }, word("numerics.program")),
          track(axis, allowed, program, false),
          figures(program, false),
        ]
      : []),
  ].flat();
}

/**
 * @param {Axis} axis
 * @param {number} allowed
 * @returns {HTMLElement[]}
 */
function axisLine(axis, allowed) {
  const line = el("span", { class: "numerics-axis", "aria-hidden": "true" });
  const zero = el("span", {}, "0");
  zero.style.setProperty("--at", "0");
  line.append(zero);
  for (const power of ticksOf(axis, 3)) {
    const share = shareOf(axis, 10 ** power);
    if (share < ROOM || share > 1 - ROOM) continue;
    const tick = el("span", {}, formatError(10 ** power, 0));
    tick.style.setProperty("--at", share.toFixed(4));
    line.append(tick);
  }
  return [
    el("span", { class: "muted" }),
    line,
    el("span", { class: "muted numerics-allowed" }, word("numerics.allowed", { allowed: formatError(allowed) })),
  ];
}

/**
 * @param {Axis} axis
 * @param {number} allowed
 * @param {CheckedRun} run
 * @param {boolean} moved
 */
function track(axis, allowed, run, moved) {
  const line = el("span", { class: "numerics-track", "aria-hidden": "true", "data-mark": run.mark });
  line.style.setProperty("--allowed", shareOf(axis, allowed).toFixed(4));
  const wide = el("i", { class: "numerics-wide" });
  wide.style.setProperty("--at", shareOf(axis, run.wide_error).toFixed(4));
  const dot = el("i", { class: "numerics-dot", "data-moved": moved });
  dot.style.setProperty("--at", shareOf(axis, run.relative_error).toFixed(4));
  if (run.wide_error !== null) line.append(wide);
  line.append(dot);
  return line;
}

/**
 * @param {CheckedRun} run
 * @param {boolean} moved
 */
function figures(run, moved) {
  const text = formatError(run.relative_error);
  return el(
    "span",
    { class: "number numerics-figure", title: run.objection },
    moved ? el("span", { class: "numerics-moved", title: word("numerics.moved") }, "Δ ") : null,
    run.mark === "ok" ? text : `⚠ ${text} ${word(`numerics-mark.${run.mark}`)}`,
  );
}
