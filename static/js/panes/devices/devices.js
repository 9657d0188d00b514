// Placement of kernels on devices: a simulated run on a platform, as a Gantt chart.
import { requestsOf } from "../../jobs/beside.js";
import { asProblem } from "../../jobs/compile.js";
import { clone, el, listen, part, partOf } from "../../elements/dom.js";
import { formatBytes, formatSeconds } from "../../text/format.js";
import { chartOf } from "../../charts/gantt_map.js";
import { askPlatforms, createPlacements, isQuick } from "../../jobs/placements.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { compared, figuresOf, useOf } from "./devices_figures.js";
import { mountGantt } from "./gantt.js";
import { showProblem } from "../shell/problem.js";
import { mountTable } from "../shell/table.js";

/**
 * @typedef {import("../../charts/gantt_map.js").Activity} Activity
 * @typedef {import("../../charts/gantt_map.js").Chart} Chart
 * @typedef {import("../../wire.js").Platforms} Platforms
 */

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {import("../../jobs/beside.js").Findings} findings
 * @returns {() => void}
 */
export function mountDevices(root, state, findings) {
  const { parts, result, work, beside } = state.get();
  if (!parts || !result?.memory) {
    root.replaceChildren(el("p", { class: "pane-empty" }, word("devices.none")));
    return () => {};
  }
  root.replaceChildren(clone("pane-devices"));
  const placements = createPlacements(parts.id, findings);
  const busy = part(root, "busy");
  const again = part(root, "again");
  const problemBox = part(root, "problem");
  const body = part(root, "body");
  const gantt = mountGantt(root, state);
  const table = mountTable(part(root, "table"), state, tableOf((activity) => gantt.pick(activity)));
  let request = 0;
  /** @type {() => void} */
  let stopWatching = () => {};

  const kept = work ? null : requestsOf(beside, "place");
  const choices = /** @type {const} */ (["platform", "scheduler", "ahead"]).map((key) => {
    const select = partOf(root, key, HTMLSelectElement);
    return {
      key,
      select,
      stop: listen(select, {
        change: () => {
          const chosen = key === "ahead" ? Number(select.value) : select.value;
          const others = { ...state.get(), [key]: chosen };
          state.set({ ...(kept ? nearest(kept, others, key) : { [key]: chosen }), span: [0, 1] });
        },
      }),
    };
  });

  /** Show the current activity, with a button to cancel or restart it. */
  function say(/** @type {"placing" | "searching" | "cancelled" | ""} */ what) {
    busy.textContent = what && word(`devices.${what}`);
    again.hidden = what === "";
    again.textContent = word(what === "cancelled" ? "devices.again" : "devices.cancel");
    again.dataset.does = what === "cancelled" ? "again" : "cancel";
  }

  /** @param {unknown} problem */
  function fail(problem) {
    say("");
    body.hidden = true;
    showProblem(problemBox, asProblem(problem));
  }

  /** @param {Platforms} known */
  async function load(known) {
    const number = ++request;
    const { platform, scheduler, ahead } = state.get();
    const options = { platform, scheduler, ahead: ahead < 0 ? null : ahead };
    const quick = isQuick(known, scheduler);
    for (const { key, select } of choices) select.value = String(state.get()[key]);
    say(quick ? "placing" : "searching");
    try {
      const placing = placements.place(options, quick);
      placing.watchQueue((words) => {
        if (number !== request) return;
        if (words) busy.textContent = words;
        else say(quick ? "placing" : "searching");
      });
      const placement = await placing.of(scheduler);
      if (number !== request) return;
      const on = known.platforms.find((each) => each.name === placement.platform);
      if (!on) return;
      showProblem(problemBox, null);
      body.hidden = false;
      state.set({ placement });
      const chart = chartOf(on, placement);
      part(root, "words").replaceChildren(...wordsFor(known, platform, scheduler));
      gantt.show(chart);
      table.show([...chart.activities].sort((a, b) => a.start - b.start));
      mark(false);
      part(root, "notes").replaceChildren(...placement.notes.map((each) => el("li", {}, each)));
      part(root, "use").replaceChildren(useOf(on, placement));
      part(root, "figures").replaceChildren(...figuresOf(placement, null));
      const all = await placing.all;
      if (number !== request) return;
      say("");
      body.dataset.placed = [platform, scheduler, ahead].join(" ");
      part(root, "figures").replaceChildren(...figuresOf(placement, all));
      part(root, "against").textContent = word("devices.against", {
        bound: formatSeconds(all.bound_seconds),
      });
      part(root, "rows").replaceChildren(
        ...compared(all, known, scheduler, (name) => state.set({ scheduler: name })),
      );
    } catch (problem) {
      if (number === request) fail(problem);
    }
  }

  /** @param {boolean} scroll */
  function mark(scroll) {
    table.mark((activity) => gantt.isSelected(activity), scroll);
  }

  askPlatforms().then((known) => {
    if (request < 0) return;
    if (kept) {
      state.set(nearest(kept, state.get(), "scheduler"));
      known = only(known, kept);
      for (const option of choices[2].select.querySelectorAll("option"))
        option.hidden = option.disabled = !kept.some((each) => String(each.ahead ?? -1) === option.value);
    }
    fill(choices[0].select, known.platforms);
    fill(choices[1].select, known.schedulers);
    stopWatching = together(
      state.watch(["platform", "scheduler", "ahead"], () => void load(known)),
      listen(again, {
        click: () => {
          if (again.dataset.does === "again") return void load(known);
          request += 1;
          placements.cancel();
          say("cancelled");
        },
      }),
      state.watch(["selection", "at"], () => mark(false)),
    );
  }, fail);

  return together(
    () => {
      request = -1;
      stopWatching();
      placements.stop();
    },
    gantt.stop,
    table.stop,
    ...choices.map(({ stop }) => stop),
  );
}

/**
 * @typedef {{platform: string, scheduler: string, ahead: number | null}} Kept request of a stored placement job
 * @typedef {Pick<import("../../state/url.js").Place, "platform" | "scheduler" | "ahead">} Wanted
 */

/**
 * Return the stored placement nearest to a choice; the quick schedulers are always available.
 * @param {Kept[]} kept
 * @param {Wanted} wanted
 * @param {keyof Wanted} first the setting to match with priority, if possible
 * @returns {Wanted}
 */
function nearest(kept, wanted, first) {
  const agrees = (/** @type {Kept} */ each) =>
    ["platform", "ahead", first].filter((key) => {
      const said = each[/** @type {keyof Wanted} */ (key)] ?? -1;
      return said === wanted[/** @type {keyof Wanted} */ (key)];
    }).length + (wanted[first] === (each[first] ?? -1) ? 1 : 0);
  const best = [...kept].sort((a, b) => agrees(b) - agrees(a))[0];
  const same = best.platform === wanted.platform && (best.ahead ?? -1) === wanted.ahead;
  const { platform, ahead, scheduler } = best;
  return { platform, ahead: ahead ?? -1, scheduler: same ? wanted.scheduler : scheduler };
}

/**
 * Return the choices among stored placements.
 * @param {Platforms} known
 * @param {Kept[]} kept
 * @returns {Platforms}
 */
function only(known, kept) {
  return {
    ...known,
    platforms: known.platforms.filter(({ name }) => kept.some((each) => each.platform === name)),
    schedulers: known.schedulers.filter(
      ({ name, is_quick }) => is_quick || kept.some((each) => each.scheduler === name),
    ),
  };
}

/**
 * @param {HTMLSelectElement} select
 * @param {{name: string}[]} named
 */
function fill(select, named) {
  select.replaceChildren(...named.map(({ name }) => el("option", { value: name }, name)));
}

/**
 * Return the descriptions of the chosen platform and scheduler.
 * @param {Platforms} known
 * @param {string} platform
 * @param {string} scheduler
 */
function wordsFor({ platforms, schedulers }, platform, scheduler) {
  const chosen = [
    platforms.find((each) => each.name === platform),
    schedulers.find((each) => each.name === scheduler),
  ];
  return chosen.map((each) =>
    el("p", {}, el("strong", {}, `${each?.name ?? ""}:`), ` ${(each?.words ?? "").replace(/\s*\n\s*/g, " ")}`),
  );
}

/**
 * Create the table with the data of the chart.
 * @param {(activity: Activity) => void} onPick
 */
function tableOf(onPick) {
  return {
    name: /** @type {const} */ ("devices"),
    caption: word("devices.caption"),
    keyOf: (/** @type {Activity} */ each) => String(each.number),
    onPick,
    originsOf: (/** @type {Activity} */ each) => each.origins,
    columns: [
      {
        id: "what",
        title: word("devices.what"),
        cell: (/** @type {Activity} */ a) =>
          el("button", { class: "link-button mono", type: "button" }, a.name),
        order: (/** @type {Activity} */ a) => a.name,
        whole: true,
      },
      {
        id: "where",
        title: word("devices.where"),
        cell: (/** @type {Activity} */ a) => (a.way ? `${a.on}, ${a.way}` : a.on),
        order: (/** @type {Activity} */ a) => a.on,
        whole: true,
      },
      {
        id: "start",
        title: word("devices.start"),
        cell: (/** @type {Activity} */ a) => formatSeconds(a.start),
        order: (/** @type {Activity} */ a) => a.start,
        number: true,
      },
      {
        id: "takes",
        title: word("devices.takes"),
        cell: (/** @type {Activity} */ a) => formatSeconds(a.end - a.start),
        order: (/** @type {Activity} */ a) => a.end - a.start,
        number: true,
      },
      {
        id: "bytes",
        title: word("devices.bytes"),
        cell: (/** @type {Activity} */ a) => (a.nbytes ? formatBytes(a.nbytes) : ""),
        order: (/** @type {Activity} */ a) => a.nbytes,
        number: true,
      },
      {
        id: "critical",
        title: word("devices.critical"),
        cell: (/** @type {Activity} */ a) => (a.critical ? word("devices.yes") : ""),
        order: (/** @type {Activity} */ a) => Number(a.critical),
        whole: true,
      },
    ],
  };
}
