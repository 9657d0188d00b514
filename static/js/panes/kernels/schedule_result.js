// Result of an edited schedule: correctness, times with interval, code side by side.
import { el, listen, part, partOf } from "../../elements/dom.js";
import { formatBytes, formatCount, formatError, formatSeconds } from "../../text/format.js";
import { lineDiff } from "../../text/line_diff.js";
import { verdictOf } from "../../text/schedule_text.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { highlighted } from "./code_lines.js";
import { timeWithInterval } from "../times/measuring.js";
import { mountSide } from "./targets_side.js";

/**
 * @typedef {import("../../wire.js").EditedKernel} EditedKernel
 * @typedef {import("./targets_side.js").Level} Level
 */

/** Levels with a useful line diff; at lower levels, all registers are renamed. */
const DIFFED = ["schedule", "loops"];
const MOST_DIFFED = 3_000;

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 */
export function mountScheduleResult(root, state) {
  const level = partOf(root, "level", HTMLSelectElement);
  const diff = part(root, "diff");
  const sides = part(root, "sides");
  const titles = [word("schedule.own"), word("schedule.edited")];
  const pins = [-1, -1];
  const [left, right] = ["left", "right"].map((name, i) =>
    mountSide(part(root, name), titles[i], () => {}, { get: () => pins[i], set: (line) => (pins[i] = line) }),
  );
  /** @type {EditedKernel | null} */
  let found = null;

  function code() {
    const at = /** @type {Level} */ (state.get().level);
    level.value = at;
    if (!found) return;
    const [a, b] = [found.original[at], found.edited[at]];
    const lines = [a, b].map((text) => text.split("\n").length);
    const isDiff = DIFFED.includes(at) && Math.max(...lines) <= MOST_DIFFED;
    diff.hidden = !isDiff;
    sides.hidden = isDiff;
    root.dataset.level = at;
    part(root, "differ").textContent = a === b ? word("schedule.alike") : "";
    if (isDiff) return diff.replaceChildren(diffOf(at, a, b));
    for (const [i, side] of [left, right].entries()) {
      const texts = i === 0 ? found.original : found.edited;
      side.offer([titles[i]], titles[i]);
      side.show({ ...texts, target: titles[i], kernel: found.kernel }, at);
    }
  }

  return {
    /** @param {EditedKernel} now @param {boolean} over whether the job has ended */
    show(now, over) {
      found = now;
      root.hidden = false;
      part(root, "verdict").replaceChildren(...verdict(now, over));
      part(root, "figures").replaceChildren(figures(now));
      root.dataset.over = String(over);
      code();
    },
    stop: together(
      left.stop,
      right.stop,
      listen(level, { change: () => state.set({ level: level.value }) }),
      state.watch(["level"], code),
    ),
  };
}

/** @param {EditedKernel} found @param {boolean} over */
function verdict({ because, times, outputs }, over) {
  if (because) return [el("p", {}, word("schedule.not-run", { because }))];
  if (!over && !times) return [el("p", { class: "muted" }, word("schedule.running"))];
  const wrong = outputs.find((each) => !each.agrees);
  if (wrong) return [el("p", { role: "alert" }, word("schedule.other", written(wrong)))];
  const worst = outputs.reduce((a, b) => (b.max_abs_error > a.max_abs_error ? b : a));
  const numbers =
    worst.max_abs_error === 0
      ? word("schedule.exact")
      : word("schedule.numbers", written(worst));
  if (!times) return [el("p", {}, numbers)];
  const [ratio, low, high] = [times.ratio, times.low, times.high].map((each) => each.toFixed(2));
  const says = verdictOf(times);
  return [
    el(
      "p",
      { "data-verdict": says },
      el("span", { class: "number" }, word("schedule.ratio", { ratio })),
      " ",
      el("span", { class: "muted" }, word("schedule.interval", { low, high, n: times.rounds })),
    ),
    el("p", {}, word(`schedule.${says}`, { noise: Math.round(100 * times.noise) }), " ", numbers),
  ];
}

/** @param {EditedKernel["outputs"][number]} output */
const written = ({ name, max_abs_error, scale }) => ({
  name,
  error: formatError(max_abs_error),
  scale: scale.toPrecision(3),
});

/** @param {EditedKernel} found */
function figures({ name, original, edited, times }) {
  const heads = ["which", ...(times ? ["call"] : []), "instructions", "spills", "bytes"];
  const rows = /** @type {const} */ ([
    ["own", original, times?.original],
    ["edited", edited, times?.edited],
  ]);
  return el(
    "table",
    { class: "table schedule-figures" },
    el("caption", { class: "visually-hidden" }, word("schedule.caption", { name })),
    el("thead", {}, el("tr", {}, ...heads.map((each, i) =>
      el("th", { scope: "col", class: i ? "number" : undefined }, word(`schedule.${each}`))))),
    el(
      "tbody",
      {},
      ...rows.map(([which, code, time]) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, word(`schedule.${which}`)),
          time && el("td", { class: "number", title: timeWithInterval(time) }, formatSeconds(time.median_s)),
          el("td", { class: "number" }, formatCount(code.n_instructions)),
          el("td", { class: "number" }, code.n_spills === null ? "–" : formatCount(code.n_spills)),
          el("td", { class: "number" }, formatBytes(code.n_bytes)),
        ),
      ),
    ),
  );
}

/** @param {string} level @param {string} before @param {string} after */
function diffOf(level, before, after) {
  const marker = { "": " ", added: "+", removed: "−" };
  return el(
    "div",
    {
      class: "code-lines",
      "data-language": level,
      tabIndex: 0,
      role: "region",
      "aria-label": word(`pane.${level}`),
    },
    ...lineDiff(before, after).map(({ kind, text }) =>
      el(
        "div",
        { class: "code-line", "data-kind": kind || undefined },
        el("span", { class: "code-marker" }, marker[kind]),
        el("span", { class: "code-text" }, ...highlighted(level, text)),
      ),
    ),
  );
}
