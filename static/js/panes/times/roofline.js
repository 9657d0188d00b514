// Kernels below the ceilings of the machine: operations per byte against operations per second.
import { clone, el, listen, part, partOf } from "../../elements/dom.js";
import { formatBytes, formatPercent, formatRate, formatRatio, formatSeconds } from "../../text/format.js";
import { ceilingsOf, spotsOf } from "../../charts/roofline_map.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { mountMeasured, mountMeasuring } from "./measuring.js";
import { levelsText, mountRooflinePlot } from "./roofline_plot.js";
import { mountTable } from "../shell/table.js";

/**
 * @typedef {import("../../wire.js").Profile} Profile
 * @typedef {import("../../charts/roofline_map.js").Spot} Spot
 * @typedef {import("../../charts/roofline_map.js").Ceiling} Ceiling
 */

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountRoofline(root, state) {
  return mountMeasured(root, state, show);
}

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {Profile} profile
 */
function show(root, state, profile) {
  root.replaceChildren(clone("pane-roofline"));
  const spots = spotsOf(profile, state.get().result?.kernels ?? []);
  const ceilings = ceilingsOf(profile);
  part(root, "honest").textContent = whatTheyAre(profile, ceilings);
  part(root, "notes").replaceChildren(...notesOf(profile, spots).map((each) => el("li", {}, each)));
  part(root, "ceilings").replaceChildren(ceilingTable(profile, ceilings));
  const measuring = mountMeasuring(root, state);
  const machine = partOf(root, "machine", HTMLButtonElement);
  machine.hidden = state.get().work === null;
  const plot = mountRooflinePlot(root, state, spots, ceilings);
  const table = mountTable(part(root, "table"), state, {
    name: "roofline",
    caption: word("roofline.caption"),
    keyOf: (/** @type {Spot} */ { kernel }) => String(kernel.kernel),
    onPick: (spot) => plot.pick(spot),
    originsOf: ({ kernel }) => kernel.origins,
    columns: columnsOf(),
  });
  table.show([...spots].sort((a, b) => b.times.median_s - a.times.median_s));
  return together(
    measuring.stop,
    plot.stop,
    table.stop,
    listen(machine, { click: () => void measuring.measure(true) }),
    state.watch(["measuring", "result"], ({ measuring: now, result }) => {
      machine.disabled = (now !== null && now.problem === null) || !result?.complete;
    }),
    state.watch(["selection", "kernel"], () => table.mark(plot.isSelected, false)),
  );
}

/**
 * @param {Profile} profile
 * @param {Ceiling[]} ceilings
 */
function whatTheyAre({ machine }, ceilings) {
  const n = Math.max(...ceilings.map((each) => each.n_cores));
  const date = new Date((machine.measured ?? 0) * 1000).toLocaleString("en-GB", {
    dateStyle: "long",
    timeStyle: "short",
  });
  return [
    machine.is_measured
      ? word("roofline.measured", { machine: machine.name, date })
      : word("roofline.estimated", { machine: machine.name }),
    n > 1 ? word("roofline.cores", { n }) : "",
  ]
    .filter(Boolean)
    .join(" ");
}

/**
 * @param {Profile} profile
 * @param {Spot[]} spots
 */
function notesOf(profile, spots) {
  const tiny = spots.filter((each) => each.tiny).length;
  const fewer = spots.filter((each) => each.times.fewer_products).length;
  const above = spots.filter(({ reached, times }) => (reached ?? 0) > 1 && !times.fewer_products).length;
  const how = word(profile.machine.is_measured ? "roofline.how-measured" : "roofline.how-estimated");
  const moving = profile.kernels.length - spots.length;
  return [
    spots.length ? "" : word("roofline.no-spots"),
    tiny ? word("roofline.note-tiny", { n: tiny }) : "",
    fewer ? word("roofline.note-fewer", { n: fewer }) : "",
    above ? word("roofline.note-above", { n: above, how }) : "",
    moving ? word("roofline.note-moving", { n: moving }) : "",
    word("roofline.note-bytes"),
  ].filter(Boolean);
}

/** @returns {import("../shell/table.js").Column<Spot>[]} */
function columnsOf() {
  return [
    {
      id: "kernel",
      title: word("profile.kernel"),
      cell: ({ kernel }) => el("button", { class: "link-button mono", type: "button" }, kernel.name),
      order: ({ kernel }) => kernel.name,
      whole: true,
    },
    {
      id: "intensity",
      title: word("roofline.intensity"),
      cell: ({ intensity }) => formatRatio(intensity),
      order: ({ intensity }) => intensity,
      number: true,
    },
    {
      id: "rate",
      title: word("roofline.rate"),
      cell: ({ rate }) => formatRate(rate),
      order: ({ rate }) => rate,
      number: true,
    },
    {
      id: "interval",
      title: word("profile.interval"),
      cell: ({ low, high }) => `${formatRate(low)} – ${formatRate(high)}`,
      order: ({ low, high, rate }) => (high - low) / rate,
      number: true,
    },
    {
      id: "reached",
      title: word("roofline.reached"),
      cell: ({ reached }) => (reached === null ? "–" : formatPercent(reached)),
      order: ({ reached }) => reached ?? -1,
      number: true,
    },
    {
      id: "bound",
      title: word("profile.bound"),
      cell: ({ times }) => (times.bound ? word(`bound.${times.bound}`) : "–"),
      order: ({ times }) => times.bound,
      whole: true,
    },
    {
      id: "unit",
      title: word("roofline.unit"),
      cell: ({ times }) => (times.unit ? word(`unit.${times.unit}`) : "–"),
      order: ({ times }) => times.unit,
      whole: true,
    },
    {
      id: "levels",
      title: word("roofline.levels"),
      cell: ({ times }) => levelsText(times),
      order: ({ times }) => times.bytes,
      number: true,
      hint: word("roofline.levels-words"),
    },
    {
      id: "time",
      title: word("profile.time"),
      cell: ({ times }) => formatSeconds(times.median_s),
      order: ({ times }) => times.median_s,
      number: true,
    },
  ];
}

/**
 * @param {Profile} profile
 * @param {Ceiling[]} ceilings
 */
function ceilingTable({ machine }, ceilings) {
  const heads = ["roofline.ceiling", "roofline.speed", "roofline.holds"];
  const cores = (/** @type {number} */ n) => (n > 1 ? `, ${word("roofline.on-cores", { n })}` : "");
  return el(
    "table",
    { class: "table" },
    el("caption", { class: "visually-hidden" }, word("roofline.ceilings")),
    el(
      "thead",
      {},
      el("tr", {}, ...heads.map((key, i) => el("th", { scope: "col", class: i ? "number" : "" }, word(key)))),
    ),
    el(
      "tbody",
      {},
      ...ceilings.map(({ name, kind, speed, n_cores }) => {
        const holds = machine.levels.find((each) => each.level === name)?.bytes;
        return el(
          "tr",
          {},
          el("td", {}, `${kind === "compute" ? word(`unit.${name}`) : name}${cores(n_cores)}`),
          el("td", { class: "number" }, kind === "compute" ? formatRate(speed) : `${formatBytes(speed)}/s`),
          el("td", { class: "number" }, holds ? formatBytes(holds) : ""),
        );
      }),
    ),
  );
}
