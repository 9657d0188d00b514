// The kernels of two compilations as pairs, and the code of one pair side by side.
import { bindSwitch, isOn, watchSwitch } from "../../state/bindings.js";
import { asProblem } from "../../jobs/compile.js";
import { clone, closest, el, listen, part, partOf } from "../../elements/dom.js";
import { faster } from "../../results/comparison.js";
import { formatSeconds } from "../../text/format.js";
import { longestPair, pairKernels, pairOf, timesOf } from "../../results/kernel_pairs.js";
import { withoutCalls } from "../../results/separate_calls.js";
import { inSlices } from "../../elements/slices.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { split, unified } from "../passes/diff_rows.js";
import { moreLines } from "../kernels/more_lines.js";
import { showProblem } from "../shell/problem.js";
import { mountTable } from "../shell/table.js";

/**
 * @typedef {import("../../wire.js").Result} Result
 * @typedef {import("../../wire.js").Kernel} Kernel
 * @typedef {import("../../wire.js").DiffRow} DiffRow
 * @typedef {import("../../results/kernel_pairs.js").KernelPair} KernelPair
 * @typedef {import("../../results/separate_calls.js").Calls} Calls
 */

/** Without a comparison, no kernel has a time. @type {Calls} */
const NO_CALLS = { a: 0, b: 0 };

const ALL_LINES = 1000;
/** Number of rows drawn at first; a button shows the others. */
const CHUNK = 3000;
/** Minimum width for two columns of code. */
const SPLIT_PX = 480;

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {Result} a
 * @param {Result} b
 * @param {import("../../server/api.js").Parts} partsB
 * @param {import("../../wire.js").Comparison | null} compared the times of the kernels of `a` and `b`
 * @returns {() => void}
 */
export function mountComparedCode(root, state, a, b, partsB, compared) {
  root.replaceChildren(clone("pane-compare-code"));
  const body = part(root, "code");
  const level = partOf(root, "level", HTMLSelectElement);
  const all = partOf(root, "all", HTMLInputElement);
  const modes = part(root, "modes");
  const choices = /** @type {const} */ (["a", "b"]).map((side) => {
    const choice = partOf(root, `kernel-${side}`, HTMLSelectElement);
    const { kernels } = side === "a" ? a : b;
    choice.replaceChildren(
      el("option", { value: "" }, word("compare.no-kernel")),
      ...kernels.map((each) => el("option", { value: String(each.kernel) }, nameOf(each))),
    );
    return choice;
  });
  const pairs = pairKernels(a.kernels, b.kernels);
  const calls = compared ? { a: compared.a.call_s, b: compared.b.call_s } : NO_CALLS;
  const table = mountTable(
    part(root, "pairs"),
    state,
    tableOf((pair) => state.set({ pair: keyOf(pair) }), calls),
  );
  const natural = root.clientWidth < SPLIT_PX ? "unified" : "split";
  const mode = () => state.get().sides || natural;
  let request = 0;
  let stopDrawing = () => {};
  /** @type {DiffRow[]} */
  let rows = [];
  table.show(pairs);
  part(root, "pairs").tabIndex = 0;
  part(root, "says").textContent = summary(pairs);
  part(root, "calls").hidden = calls.a + calls.b === 0;
  part(root, "calls").textContent = word("compare.calls", { a: formatSeconds(calls.a), b: formatSeconds(calls.b) });

  /** Return the pair in the link if it exists, else the slowest pair. */
  function chosen() {
    const [x, y] = state.get().pair.split(":");
    const first = a.kernels.find((each) => String(each.kernel) === x) ?? null;
    const second = b.kernels.find((each) => String(each.kernel) === y) ?? null;
    if (first || second)
      return pairs.find((each) => each.a === first && each.b === second) ?? pairOf(first, second);
    return longestPair(pairs);
  }

  async function load() {
    const number = ++request;
    stopDrawing();
    const pair = chosen();
    if (!pair) return say(word("compare.no-code"));
    const at = state.get().code;
    [pair.a, pair.b].forEach((kernel, i) => (choices[i].value = String(kernel?.kernel ?? "")));
    level.value = at;
    part(root, "choice").textContent = sentence(pair);
    part(root, "counts").textContent = "";
    table.mark((each) => keyOf(each) === keyOf(pair), false);
    const name = /** @type {import("../../wire.js").KernelPart} */ (at);
    const absent = [pair.a, pair.b].find((kernel) => kernel && !kernel.parts.includes(name));
    if (absent) return say(word(absent.native ? "compare.no-text" : "compare.fallback", { name: nameOf(absent) }));
    try {
      const found = await textOf(pair, name);
      if (number !== request) return;
      rows = found.rows;
      part(root, "counts").textContent =
        found.added + found.removed || !pair.a || !pair.b
          ? word("text.counts", { added: found.added, removed: found.removed })
          : word("compare.same-text");
      part(root, "cut").hidden = found.cut === 0;
      part(root, "cut").textContent = word("code.cut", { n: found.cut });
      body.dataset.shown = `${keyOf(pair)} ${at}`;
      draw(CHUNK);
    } catch (thrown) {
      if (number !== request) return;
      const box = el("div", { class: "problem" });
      showProblem(box, asProblem(thrown));
      body.replaceChildren(box);
    }
  }

  /**
   * Return the diff of two texts, or the text of an unmatched kernel.
   * @param {KernelPair} pair
   * @param {import("../../wire.js").KernelPart} name
   */
  async function textOf(pair, name) {
    const { parts } = state.get();
    const from = pair.b ? partsB : parts;
    const one = pair.b ?? pair.a;
    if (!parts || !from || !one) return { rows: [], added: 0, removed: 0, cut: 0 };
    if (pair.a && pair.b) {
      const old = { job: parts.id, kernel: pair.a.kernel };
      const diff = await partsB.kernelDiff(pair.b.kernel, name, old, isOn(state, "compare-whole") ? ALL_LINES : 3);
      // Without a difference, show the text instead of a single folded row.
      if (diff.n_added + diff.n_removed > 0 || isOn(state, "compare-whole"))
        return { rows: diff.rows, added: diff.n_added, removed: diff.n_removed, cut: diff.cut };
    }
    const { text, n_lines, cut } = await from.kernel(one.kernel, name);
    const mark = pair.a && pair.b ? " " : pair.b ? "+" : "-";
    /** @type {DiffRow[]} */
    const lines = text
      .split("\n")
      .map((line, i) => [mark, mark === "+" ? null : i, mark === "-" ? null : i, line]);
    const n = mark === " " ? 0 : n_lines;
    return { rows: lines, added: mark === "+" ? n : 0, removed: mark === "-" ? n : 0, cut };
  }

  function draw(/** @type {number} */ limit) {
    stopDrawing();
    const { code } = state.get();
    const shown = rows.slice(0, limit);
    const beside = mode() === "split";
    const names = /** @type {[string, string]} */ (choices.map(({ selectedOptions }, i) => `${"AB"[i]}: ${selectedOptions[0]?.text ?? ""}`));
    const drawing = beside ? split(shown, code, names) : unified(shown, code);
    body.replaceChildren(drawing.element);
    // Wrapped lines would lose their alignment.
    if (!beside) drawing.element.dataset.language = code;
    stopDrawing = inSlices(drawing.n, (start, end) => drawing.make(start, end));
    for (const each of modes.querySelectorAll("button"))
      each.setAttribute("aria-pressed", String(each.dataset.mode === mode()));
    if (rows.length > limit) body.append(moreLines(rows.length - limit, () => draw(Infinity)));
  }

  function say(/** @type {string} */ words) {
    delete body.dataset.shown;
    part(root, "cut").hidden = true;
    rows = [];
    body.replaceChildren(el("p", { class: "pane-empty" }, words));
  }

  return together(
    () => (request += 1),
    () => stopDrawing(),
    table.stop,
    listen(level, { change: () => state.set({ code: level.value }) }),
    bindSwitch(all, state, "compare-whole"),
    ...choices.map((choice) =>
      listen(choice, {
        change: () => {
          const pair = choices.map(({ value }) => value).join(":");
          if (pair === ":") void load();
          else state.set({ pair });
        },
      }),
    ),
    listen(modes, {
      click: (event) => {
        const chosen = closest(event, "[data-mode]")?.dataset.mode;
        if (chosen === "split" || chosen === "unified") state.set({ sides: chosen });
      },
    }),
    state.watch(["sides"], () => rows.length > 0 && draw(CHUNK)),
    state.watch(["pair", "code"], () => void load()),
    watchSwitch(state, "compare-whole", () => rows.length > 0 && void load()),
  );
}

/** @param {Kernel} kernel */
const nameOf = ({ kernel, name }) => `${kernel}  ${name}`;

/** Return the key of a pair, as in `Place`. @param {KernelPair} pair */
const keyOf = ({ a, b }) => `${a?.kernel ?? ""}:${b?.kernel ?? ""}`;

/** Describe how the kernels were matched. @param {KernelPair[]} pairs */
function summary(pairs) {
  const both = pairs.filter(({ a, b }) => a && b);
  const same = both.filter(({ shared, all }) => shared === all).length;
  return word("compare.pairs-say", {
    n: same,
    partly: both.length - same,
    a: pairs.filter(({ b }) => !b).length,
    b: pairs.filter(({ a }) => !a).length,
  });
}

/** Return the side that divides the work among several kernels, if one does. @param {KernelPair} pair */
const dividedSide = ({ more }) => /** @type {const} */ (["a", "b"]).find((side) => more[side].length > 0);

/** Return the reason for pairing the two kernels. @param {KernelPair} pair */
function sentence(pair) {
  const { a, b, shared, all, elsewhere } = pair;
  const divided = dividedSide(pair);
  if (!a || !b) {
    const [here, there] = a ? ["A", "B"] : ["B", "A"];
    return elsewhere
      ? word("compare.alone-in", { here, there, name: nameOf(elsewhere) })
      : word("compare.alone", { here, there });
  }
  if (all === 0) return word("compare.by-name");
  if (divided && shared < all) return word("compare.summed-nodes", { n: all, shared, there: divided.toUpperCase() });
  return shared === all ? word("compare.same-nodes", { n: all }) : word("compare.shared-nodes", { n: all, shared });
}

/** @param {KernelPair} pair */
function nodesCell(pair) {
  const { a, b, shared, all, elsewhere, more } = pair;
  const divided = dividedSide(pair);
  if (divided) {
    const numbers = more[divided].map(({ kernel }) => kernel).join(", ");
    return word("compare.sum-short", { n: all, there: divided.toUpperCase(), more: numbers });
  }
  if (a && b) return all === 0 ? word("compare.no-nodes") : shared === all ? word("compare.same-short", { n: all }) : word("compare.shared-short", { shared, n: all });
  const here = a ? "A" : "B";
  return elsewhere
    ? word("compare.alone-in-short", { here, there: a ? "B" : "A", n: elsewhere.kernel })
    : word("compare.alone-short", { here });
}

/**
 * Return the times of the kernels of a side, without their separate calls.
 * @param {KernelPair} pair
 * @param {"a" | "b"} side
 * @param {Calls} calls
 */
const computing = (pair, side, calls) => withoutCalls(timesOf(pair, side), pair.more[side].length + 1, calls[side]);

/**
 * Return the time of B's kernel divided by the time of A's kernel; null if a time is unknown or mostly a call.
 * @param {KernelPair} pair
 * @param {Calls} calls
 */
function ratioOf(pair, calls) {
  const [a, b] = [computing(pair, "a", calls), computing(pair, "b", calls)];
  return a?.median_s && b?.median_s ? b.median_s / a.median_s : null;
}

/** @param {KernelPair} pair @param {Calls} calls */
function ratioCell(pair, calls) {
  const ratio = ratioOf(pair, calls);
  if (ratio === null) {
    const isTimed = timesOf(pair, "a") && timesOf(pair, "b");
    return isTimed ? el("span", { class: "muted", title: word("compare.mostly-call") }, word("compare.call-short")) : "–";
  }
  const unsure = faster(computing(pair, "a", calls), computing(pair, "b", calls)) === "same";
  const shown = ratio.toFixed(2);
  return unsure ? el("span", { class: "muted", title: word("compare.overlap") }, `≈ ${shown}`) : shown;
}

/** @param {(pair: KernelPair) => void} onPick @param {Calls} calls */
function tableOf(onPick, calls) {
  const kernel = (/** @type {"a" | "b"} */ side) => ({
    id: side,
    title: side.toUpperCase(),
    cell: (/** @type {KernelPair} */ pair) => {
      const each = pair[side];
      if (!each) return "–";
      return el("button", { class: "link-button mono", type: "button" }, nameOf(each));
    },
    order: (/** @type {KernelPair} */ pair) => pair[side]?.kernel ?? Infinity,
  });
  const time = (/** @type {"a" | "b"} */ side) => ({
    id: `time-${side}`,
    title: word(`compare.time-${side}`),
    hint: word("compare.time-hint"),
    cell: (/** @type {KernelPair} */ pair) => {
      const times = timesOf(pair, side);
      if (!times) return "–";
      const time = formatSeconds(times.median_s);
      const n = pair.more[side].length + 1;
      return n > 1 ? el("span", { title: word("compare.sum-hint", { n }) }, word("compare.sum-time", { time })) : time;
    },
    order: (/** @type {KernelPair} */ pair) => timesOf(pair, side)?.median_s ?? -1,
    number: true,
  });
  return {
    name: /** @type {const} */ ("pairs"),
    caption: word("compare.pairs-caption"),
    keyOf,
    onPick,
    columns: [
      kernel("a"),
      kernel("b"),
      {
        id: "nodes",
        title: word("compare.nodes-title"),
        cell: nodesCell,
        order: (/** @type {KernelPair} */ { shared, all }) => (all ? shared / all : 0),
      },
      time("a"),
      time("b"),
      {
        id: "ratio",
        title: "B ÷ A",
        hint: word("compare.ratio-hint"),
        cell: (/** @type {KernelPair} */ pair) => ratioCell(pair, calls),
        order: (/** @type {KernelPair} */ pair) => ratioOf(pair, calls) ?? -1,
        number: true,
      },
    ],
  };
}
