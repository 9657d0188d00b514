// The savings of a rewrite as a sum: "8,192 B of traffic = 4,096 written + 4,096 read".
import { formatCount, formatSeconds } from "../../text/format.js";
import { word } from "../../text/words.js";

/** @typedef {NonNullable<import("../../wire.js").Step["saves"]>} Saved */

/** Return whether a rewrite costs more than it saves by itself. @param {Saved} saved */
export const isCost = ({ seconds, bytes, flops }) => seconds < 0 || (seconds === 0 && (bytes < 0 || (bytes === 0 && flops < 0)));

/**
 * Return the terms of a sum whose terms may be negative, the largest positive term first.
 * @param {{key: "steps.written" | "steps.read", n: number}[]} terms
 * @returns {{key: string, n: number, sign: "" | "+" | "−"}[]}
 */
export function termsOf(terms) {
  const shown = terms.filter(({ n }) => n !== 0).sort((a, b) => Number(b.n > 0) - Number(a.n > 0));
  return shown.map(({ key, n }, i) => ({ key, n: Math.abs(n), sign: n < 0 ? "−" : i === 0 ? "" : "+" }));
}

/**
 * Return the estimated time with its assumption: the memory level that supplies the values.
 * @param {Pick<Saved, "seconds" | "supplied_by">} saved
 * @returns {[string, Record<string, string>]}
 */
export function estimated({ seconds, supplied_by: level }) {
  const time = formatSeconds(Math.abs(seconds));
  return level === "DRAM" ? ["steps.estimated-dram", { time }] : ["steps.estimated", { time, level }];
}

/**
 * Return the savings, or the costs of a rewrite that costs more than it saves, as a text.
 * @param {Saved} saved
 */
export function savings(saved) {
  const sign = isCost(saved) ? -1 : 1;
  const [written, read, bytes, flops] = [saved.bytes_written, saved.bytes_read, saved.bytes, saved.flops].map((n) => sign * n);
  const sum = termsOf([{ key: "steps.written", n: written }, { key: "steps.read", n: read }])
    .map((term) => `${term.sign ? `${term.sign} ` : ""}${word(term.key, { bytes: formatCount(term.n) })}`)
    .join(" ");
  const total = `${bytes < 0 ? "−" : ""}${formatCount(Math.abs(bytes))}`;
  const counted = { n: Math.abs(flops), count: formatCount(Math.abs(flops)) };
  const operations = sign < 0 ? (flops > 0 ? "steps.more-operations" : "steps.fewer-operations") : flops > 0 ? "steps.fewer-operations" : "steps.more-operations";
  return [
    sum && word("steps.traffic", { bytes: total, sum }),
    flops && word(operations, counted),
    word(...estimated(saved)),
  ]
    .filter(Boolean)
    .join("; ");
}
