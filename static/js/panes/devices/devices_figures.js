// Figures of a simulated run: makespan, utilization, memory use, and a comparison of schedulers.
import { el } from "../../elements/dom.js";
import { bar, figure } from "../../elements/figures.js";
import { formatBytes, formatPercent, formatSeconds } from "../../text/format.js";
import { word } from "../../text/words.js";

/**
 * @typedef {import("../../wire.js").Placement} Placement
 * @typedef {import("../../wire.js").Placements} Placements
 * @typedef {import("../../wire.js").Platform} Platform
 * @typedef {import("../../wire.js").Platforms} Platforms
 */

/**
 * @param {Placement} placement
 * @param {Placements | null} all null while other schedules are pending
 * @returns {HTMLElement[]}
 */
export function figuresOf({ makespan_seconds, bound_seconds, moves }, all) {
  const bound = Math.max(bound_seconds, all?.bound_seconds ?? 0);
  const alone = all?.one_device_seconds ?? null;
  return [
    figure("devices.makespan", formatSeconds(makespan_seconds)),
    figure("devices.bound", formatSeconds(bound)),
    figure("devices.over", bound ? formatPercent(Math.max(0, makespan_seconds / bound - 1)) : "–"),
    figure("devices.alone", alone === null ? "–" : formatSeconds(alone)),
    figure("devices.moved", formatBytes(moves.reduce((sum, each) => sum + each.nbytes, 0))),
  ];
}

/**
 * Create a row for each scheduler: the makespan, the bound as a mark, and a button that selects the scheduler.
 * @param {Placements} all
 * @param {Platforms} known
 * @param {string} chosen
 * @param {(name: string) => void} choose
 * @returns {HTMLElement[]}
 */
export function compared({ rows, bound_seconds }, { schedulers }, chosen, choose) {
  const longest = Math.max(...rows.map((row) => row.makespan_seconds ?? 0), bound_seconds, 1e-30);
  const of = new Map(rows.map((row) => [row.scheduler, row]));
  return schedulers.flatMap(({ name, words, is_quick }) => {
    const row = of.get(name);
    const button = el(
      "button",
      { type: "button", class: "link-button mono", title: words, "aria-pressed": String(name === chosen) },
      name,
    );
    button.dataset.scheduler = name;
    button.addEventListener("click", () => choose(name));
    const makespan = row?.makespan_seconds ?? null;
    if (makespan === null) {
      const why = row?.problem?.message ?? word(is_quick ? "devices.not-asked" : "devices.searches");
      return [button, el("span", {}), el("span", { class: "muted" }, why)];
    }
    const track = bar(makespan / longest);
    track.style.setProperty("--bound", (bound_seconds / longest).toFixed(4));
    const over = bound_seconds ? Math.max(0, makespan / bound_seconds - 1) : 0;
    return [
      button,
      track,
      el("span", { class: "number" }, `${formatSeconds(makespan)}  +${formatPercent(over)}`),
    ];
  });
}

/**
 * Create the table of the utilization of devices, links and memories.
 * @param {Platform} platform
 * @param {Placement} placement
 */
export function useOf({ devices, links, memories }, placement) {
  const share = (/** @type {string} */ name, /** @type {number} */ channels) =>
    (placement.busy_seconds[name] ?? 0) / (placement.makespan_seconds || 1) / channels;
  const line = (
    /** @type {string} */ name,
    /** @type {string} */ kind,
    /** @type {string} */ what,
    /** @type {number | null} */ filled,
  ) =>
    el(
      "tr",
      {},
      el("td", { class: "mono" }, name),
      el("td", {}, kind),
      el("td", { class: "number" }, what),
      el("td", {}, filled === null ? "" : bar(filled)),
      el("td", { class: "number" }, filled === null ? "" : formatPercent(filled)),
    );
  const heads = ["devices.use-name", "devices.use-kind", "devices.use-carries", "", "devices.use-used"];
  return el(
    "table",
    { class: "table devices-use" },
    el("caption", { class: "visually-hidden" }, word("devices.use-caption")),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        ...heads.map((each, i) =>
          each
            ? el("th", { scope: "col", class: i > 1 ? "number" : "" }, word(each))
            : el("th", { scope: "col" }, el("span", { class: "visually-hidden" }, word("devices.use-used"))),
        ),
      ),
    ),
    el(
      "tbody",
      {},
      ...devices.map(({ name }) => {
        const n = placement.tasks.filter((each) => each.device === name).length;
        return line(name, word("devices.device"), word("devices.kernels", { n }), share(name, 1));
      }),
      ...links.map(({ name, channels }) => {
        const n = placement.moves.filter((each) => each.link === name).length;
        return line(name, word("devices.link"), word("devices.transfers", { n }), share(name, channels));
      }),
      ...memories.map(({ name, nbytes }) => {
        const peak = placement.peak_bytes[name] ?? 0;
        const what =
          nbytes === null
            ? formatBytes(peak)
            : word("devices.of-room", { peak: formatBytes(peak), room: formatBytes(nbytes) });
        return line(name, word("devices.memory"), what, nbytes === null ? null : peak / nbytes);
      }),
    ),
  );
}
