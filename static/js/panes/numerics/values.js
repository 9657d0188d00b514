// The values of a stage by name: errors of values, and the distribution of errors over elements.
import { el } from "../../elements/dom.js";
import { bar } from "../../elements/figures.js";
import { formatCount, formatError, formatPercent } from "../../text/format.js";
import { word } from "../../text/words.js";
import { formatUlps } from "./found.js";

/** @typedef {import("../../wire.js").CheckedValue} CheckedValue */

/**
 * @param {(value: CheckedValue) => string} operatorOf
 * @param {(value: CheckedValue) => void} onPick
 */
export function valueTable(operatorOf, onPick) {
  return {
    name: /** @type {const} */ ("numerics-values"),
    caption: word("numerics.values-caption"),
    keyOf: (/** @type {CheckedValue} */ value) => value.name,
    onPick,
    columns: [
      {
        id: "value",
        title: word("numerics-column.value"),
        cell: (/** @type {CheckedValue} */ value) =>
          el("button", { type: "button", class: "link-button mono" }, value.name),
        order: (/** @type {CheckedValue} */ value) => value.name,
      },
      {
        id: "operator",
        title: word("numerics-column.operator"),
        cell: operatorOf,
        order: operatorOf,
        whole: true,
      },
      {
        id: "wide",
        title: word("numerics-column.wide"),
        hint: word("numerics-hint.wide"),
        cell: (/** @type {CheckedValue} */ value) => formatError(value.relative_error),
        order: (/** @type {CheckedValue} */ value) => value.relative_error ?? Infinity,
        number: true,
      },
      {
        id: "ulps",
        title: word("numerics-column.ulps"),
        hint: word("numerics-hint.ulps"),
        cell: (/** @type {CheckedValue} */ value) => (value.ulps === null ? "∞" : formatUlps(value.ulps)),
        order: (/** @type {CheckedValue} */ value) => value.ulps ?? Infinity,
        number: true,
      },
      {
        id: "other",
        title: word("numerics-column.other"),
        hint: word("numerics-hint.other"),
        cell: (/** @type {CheckedValue} */ value) => (value.moved ? word("numerics.yes") : ""),
        order: (/** @type {CheckedValue} */ value) => Number(value.moved),
        whole: true,
      },
    ],
  };
}

/**
 * Create a histogram of the errors of a value's elements.
 * @param {CheckedValue} value
 * @param {number[]} places upper ends of the bins
 * @returns {HTMLElement[]}
 */
export function distances({ name, counts }, places) {
  const total = counts.reduce((sum, n) => sum + n, 0);
  if (total === 0) return [];
  const last = counts.findLastIndex((n) => n > 0);
  return [
    el("h4", {}, word("numerics.distances", { name, n: formatCount(total) })),
    el(
      "div",
      { class: "bars numerics-distances" },
      ...counts.slice(0, last + 1).flatMap((n, i) => [
        el("span", { class: "number" }, i < places.length ? `≤ ${places[i]} ULP` : `> ${places[places.length - 1]} ULP`),
        bar(n / total),
        el("span", { class: "number" }, `${formatCount(n)}  ${formatPercent(n / total)}`),
      ]),
    ),
  ];
}
