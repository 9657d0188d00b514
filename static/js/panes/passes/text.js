// A line diff between the texts of a stage's graph and of another stage's graph.
import { bindButtons, bindSwitch, isOn, watchSwitch } from "../../state/bindings.js";
import { asProblem } from "../../jobs/compile.js";
import { bringIntoView, clone, closest, el, listen, part, partOf } from "../../elements/dom.js";
import { selectNode, selectedIds } from "../../state/selection.js";
import { inSlices } from "../../elements/slices.js";
import { chosenBase, comparedWith } from "../../results/snapshots.js";
import { stageTitle } from "../../results/stages.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { split, unified } from "./diff_rows.js";
import { moreLines } from "../kernels/more_lines.js";
import { mountPreview } from "./preview.js";
import { showProblem } from "../shell/problem.js";

/**
 * @typedef {import("../../wire.js").DiffRow} DiffRow
 * @typedef {import("../../wire.js").StageText} StageText
 */

const ALL_LINES = 1000;
/** Number of rows drawn at first; a button shows the others. */
const CHUNK = 3000;

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountText(root, state) {
  root.replaceChildren(clone("pane-text"));
  const body = part(root, "body");
  const base = partOf(root, "base", HTMLSelectElement);
  const all = partOf(root, "all", HTMLInputElement);
  const modes = part(root, "modes");
  let request = 0;
  let limit = CHUNK;
  let stopDrawing = () => {};
  /** Whether the first selected line must still be scrolled into view. */
  let isSought = false;
  /** Selected lines of the text before and of the text after. @type {[Set<number>, Set<number>]} */
  let lines = [new Set(), new Set()];
  /** @type {DiffRow[]} */
  let rows = [];
  /** @type {[StageText, StageText] | null} */
  let texts = null;

  async function load() {
    const number = ++request;
    const { parts, stage, base: chosen, result } = state.get();
    if (!parts || !result?.stages[stage]) return;
    const against = Math.max(0, comparedWith(result.stages, stage, chosen));
    try {
      const [diff, old, now] = await Promise.all([
        parts.diff(stage, against, isOn(state, "text-whole") ? ALL_LINES : 3),
        parts.text(result.stages[against].graph_stage),
        parts.text(result.stages[stage].graph_stage),
      ]);
      if (number !== request) return;
      [rows, texts, limit] = [diff.rows, [old, now], CHUNK];
      part(root, "counts").textContent = word("text.counts", {
        added: diff.n_added,
        removed: diff.n_removed,
      });
      // Without a change, show the text instead of a single folded row.
      if (diff.n_added + diff.n_removed === 0 && !isOn(state, "text-whole")) rows = plain(now);
      show();
    } catch (problem) {
      const box = el("div", { class: "problem" });
      showProblem(box, asProblem(problem));
      if (number === request) body.replaceChildren(box);
    }
  }

  function show() {
    stopDrawing();
    const shown = rows.slice(0, limit);
    const { element, n, make } = state.get().diff === "split" ? split(shown) : unified(shown);
    body.replaceChildren(element);
    findLines();
    stopDrawing = inSlices(n, (start, end) => make(start, end).forEach(markLines));
    if (rows.length > limit)
      body.append(moreLines(rows.length - limit, () => ((limit = Infinity), show())));
  }

  function findLines() {
    const { graph, before } = state.get();
    const ids = selectedIds([...(graph?.nodes ?? []), ...(before?.nodes ?? [])], state.get());
    lines = texts ? [linesOf(texts[0], ids), linesOf(texts[1], ids)] : [new Set(), new Set()];
  }

  function mark() {
    findLines();
    isSought = true;
    markLines(body);
  }

  /** Mark the selected lines among the drawn lines; later slices may add more. */
  function markLines(/** @type {HTMLElement} */ drawn) {
    let first = null;
    for (const line of drawn.querySelectorAll(".code-line")) {
      const { old: a, new: b } = /** @type {HTMLElement} */ (line).dataset;
      const selected =
        (a !== undefined && lines[0].has(Number(a))) || (b !== undefined && lines[1].has(Number(b)));
      line.toggleAttribute("data-selected", selected);
      if (selected) first ??= line;
    }
    if (isSought && first) bringIntoView(first);
    if (first) isSought = false;
  }

  /** Find the node of a line. */
  function nodeAt(/** @type {Event} */ event) {
    const { old, new: now } = closest(event, ".code-line")?.dataset ?? {};
    if (!texts) return undefined;
    const id = idAt(texts[1], now) ?? idAt(texts[0], old);
    const { graph, before } = state.get();
    return [...(graph?.nodes ?? []), ...(before?.nodes ?? [])].find((each) => each.id === id);
  }

  function pick(/** @type {Event} */ event) {
    const node = getSelection()?.toString() ? undefined : nodeAt(event);
    if (node) state.set(selectNode(node));
  }

  return together(
    () => (request += 1),
    () => stopDrawing(),
    listen(body, { click: pick }),
    mountPreview(body, state, (event) => nodeAt(event)?.origins ?? []),
    bindSwitch(all, state, "text-whole"),
    listen(base, { change: () => state.set({ base: Number(base.value) }) }),
    bindButtons(modes, state, "diff", "mode"),
    state.watch(["diff"], () => texts && show()),
    state.watch(["result", "base"], ({ result, base: chosen }) => {
      base.replaceChildren(
        el("option", { value: "-1" }, word("text.stage-before")),
        ...(result?.stages ?? []).map((each) => el("option", { value: String(each.stage) }, stageTitle(each))),
      );
      base.value = String(chosenBase(result?.stages ?? [], chosen));
    }),
    state.watch(["parts", "stage", "base"], () => void load()),
    watchSwitch(state, "text-whole", () => texts && void load()),
    state.watch(["selection", "at", "graph", "before"], mark),
  );
}

/**
 * @param {StageText} text
 * @returns {DiffRow[]}
 */
function plain(text) {
  return text.text.split("\n").map((line, i) => [" ", i, i, line]);
}

/**
 * @param {StageText} text
 * @param {Set<string>} ids
 * @returns {Set<number>}
 */
function linesOf(text, ids) {
  const lines = new Set();
  for (const [first, n, id] of text.spans) {
    if (ids.has(id)) for (let i = 0; i < n; i++) lines.add(first + i);
  }
  return lines;
}

/**
 * @param {StageText} text
 * @param {string | undefined} line
 * @returns {string | undefined}
 */
function idAt(text, line) {
  if (line === undefined) return undefined;
  // The last span that begins at or before the line is the innermost.
  return text.spans
    .filter(([first, n]) => first <= Number(line) && Number(line) < first + n)
    .pop()?.[2];
}
