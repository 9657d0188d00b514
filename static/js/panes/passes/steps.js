// The ledger of a pass: every applied rewrite, and every declined rewrite with the reason.
import { bindButtons, bindSwitch, foldOf, isOn, watchSwitch } from "../../state/bindings.js";
import { breakNames } from "../../elements/breaks.js";
import { clone, closest, el, listen, part, partOf, revealSoon } from "../../elements/dom.js";
import { formatCount, formatError, formatSeconds, unbroken } from "../../text/format.js";
import { paragraphs, prose } from "../../elements/prose.js";
import { appliedFirst, declaredStep, exampleText } from "../../results/rules.js";
import { valuesOf } from "../../results/levels.js";
import { selectValues, selectedIds } from "../../state/selection.js";
import { inSlices } from "../../elements/slices.js";
import { together } from "../../state/state.js";
import { secondOf } from "../../state/url.js";
import { word } from "../../text/words.js";
import { imported } from "./imported.js";
import { mountPreview } from "./preview.js";
import { isCost, savings } from "./savings.js";
import { mountWithoutShown } from "./without.js";
import { showProblem } from "../shell/problem.js";
import { asProblem } from "../../jobs/compile.js";

/** @typedef {import("../../wire.js").Step} Step */

/** Number of steps shown at first, and added by each click on the button below the list. */
const CHUNK = 150;
/** Number of steps built per task, about twelve elements each: first the steps in view, then more. */
const SLICES = { first: 12, size: 30 };
const ASK = 5000;
/** Maximum time, in milliseconds, that the steps of the previous pass stay visible. */
const WAIT_AFTER_MS = 400;

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountSteps(root, state) {
  root.replaceChildren(clone("pane-steps"));
  const list = part(root, "list");
  const outcomes = part(root, "outcomes");
  const rule = partOf(root, "rule", HTMLSelectElement);
  const selectedOnly = partOf(root, "selected-only", HTMLInputElement);
  const more = part(root, "more");
  let request = 0;
  let limit = CHUNK;
  /** Return the index of the opened step, -1 for none. */
  const openedStep = () => secondOf(state.get().step, state.get().stage);
  /** @type {Step[]} */
  let steps = [];
  let total = 0;
  let stopMaking = () => {};
  /** Whether the opened step must still be scrolled into view. */
  let isSought = false;

  const fits = (/** @type {Step} */ step) => {
    const { outcome } = state.get();
    return (
      (outcome === "all" || step.outcome === outcome) &&
      (rule.value === "" || step.rule === rule.value) &&
      (!isOn(state, "steps-selected") || isSelected(step))
    );
  };

  /** @type {Set<string>} values of the selected nodes, before and after the pass */
  let values = new Set();
  const isSelected = (/** @type {Step} */ step) =>
    values.has(step.at) ||
    step.took.some((v) => values.has(v)) ||
    step.made.some((v) => values.has(v));

  /** @param {number} [kept] number of elements at the start of the list that remain */
  function show(kept = 0) {
    const { pipelines, result, stage } = state.get();
    const chosen = appliedFirst(steps.filter(fits));
    stopMaking();
    if (kept === 0) list.replaceChildren();
    stopMaking = inSlices(
      Math.min(limit, chosen.length) - kept,
      (start, end) => {
        const made = chosen.slice(kept + start, kept + end).map((step) => item(step));
        list.append(...made);
        const opened = isSought && made.find((each) => each.querySelector("[aria-expanded=true]"));
        if (!opened) return;
        isSought = false;
        reveal(opened);
      },
      SLICES,
    );
    if (steps.length === 0 && stage === 0 && result) list.append(imported(result));
    else if (steps.length === 0) {
      const key = result?.stages[stage]?.changed ? "steps.none" : "steps.none-unchanged";
      list.append(el("li", { class: "pane-empty" }, word(key)));
    } else if (chosen.length === 0)
      list.append(el("li", { class: "pane-empty" }, word("steps.none-fit")));
    const hidden = Math.max(0, chosen.length - limit) + (total - steps.length);
    more.hidden = hidden <= 0;
    part(more, "show-more").textContent = word("steps.more", {
      n: hidden,
      count: formatCount(hidden),
    });
    const words = paragraphs(
      declaredStep(pipelines, result?.stages[stage]?.name ?? "", rule.value)?.words ?? "",
    );
    part(root, "words").replaceChildren(...words.map((text) => prose(text)));
    part(root, "words").hidden = words.length === 0;
  }

  /** Values of steps, computed on demand because a pass may have thousands of steps. @type {WeakMap<Step, string[]>} */
  const origins = new WeakMap();

  function originsOf(/** @type {Step} */ step) {
    const { graph, before } = state.get();
    const found = origins.get(step) ?? selectValues([graph, before], [...step.made, step.at, ...step.took]).selection;
    if (graph) origins.set(step, found);
    return found;
  }

  function item(/** @type {Step} */ step) {
    const index = steps.indexOf(step);
    const button = row(step, index, isSelected(step));
    const opened = openedStep();
    button.setAttribute("aria-expanded", String(index === opened));
    const { pipelines, result, stage } = state.get();
    const rule = declaredStep(pipelines, result?.stages[stage]?.name ?? "", step.rule);
    return el("li", { class: "step-item" }, button, index === opened ? explain(step, rule, state) : null);
  }

  function findValues() {
    const { graph, before } = state.get();
    const nodes = [...(graph?.nodes ?? []), ...(before?.nodes ?? [])];
    const ids = selectedIds(nodes, state.get());
    values = new Set();
    if (ids.size === 0) return;
    for (const node of nodes) if (ids.has(node.id)) for (const each of valuesOf(node)) values.add(each);
  }

  function mark() {
    findValues();
    if (isOn(state, "steps-selected")) return show();
    for (const each of list.querySelectorAll("[data-step]")) {
      each.toggleAttribute(
        "data-selected",
        isSelected(steps[Number(/** @type {HTMLElement} */ (each).dataset.step)]),
      );
    }
  }

  function count() {
    const applied = steps.filter((each) => each.outcome === "applied").length;
    part(root, "n-all").textContent = formatCount(total);
    const { result, stage } = state.get();
    part(root, "n-applied").textContent = formatCount(result?.stages[stage]?.n_applied ?? applied);
    part(root, "n-declined").textContent = formatCount(
      result?.stages[stage]?.n_declined ?? total - applied,
    );
    const names = [...new Set(steps.map((each) => each.rule))].sort();
    rule.replaceChildren(
      el("option", { value: "" }, word("steps.every-rule")),
      ...names.map((name) => el("option", { value: name }, name)),
    );
    chooseRule();
  }

  /** Show the chosen rule; passes without steps of this rule ignore the choice. */
  function chooseRule() {
    const { rule: wanted } = state.get();
    rule.value = [...rule.options].some(({ value }) => value === wanted) ? wanted : "";
  }

  /** List from the start after a change of filters. */
  function relist() {
    if (steps.length === 0) return;
    chooseRule();
    limit = CHUNK;
    show();
  }

  async function load() {
    const number = ++request;
    const { parts, stage } = state.get();
    if (!parts) return;
    const wait = () => {
      stopMaking();
      list.replaceChildren(el("li", { class: "pane-empty" }, word("steps.waiting")));
    };
    const late = setTimeout(() => number === request && wait(), WAIT_AFTER_MS);
    try {
      const found = await parts.steps(stage, 0, ASK);
      if (number !== request) return;
      [steps, total, limit] = [found.steps, found.n_steps, CHUNK];
      count();
      findValues();
      limit = Math.max(limit, appliedFirst(steps).indexOf(steps[openedStep()]) + 1);
      isSought = true;
      show();
      box();
    } catch (problem) {
      const box = el("div", { class: "problem" });
      showProblem(box, asProblem(problem));
      if (number !== request) return;
      stopMaking();
      list.replaceChildren(el("li", {}, box));
    } finally {
      clearTimeout(late);
    }
  }

  /** Scroll to the content of an item: unlike scrolling to the item, this forces a layout of the item. */
  function reveal(/** @type {Element} */ opened) {
    revealSoon(opened.lastElementChild);
  }

  /** Highlight in the drawing the nodes that the opened step matched and created. */
  function box() {
    const step = steps[openedStep()];
    state.set({ boxed: step ? [step.at, ...step.took, ...step.made] : [] });
  }

  /** Open a step and close the previously opened step. */
  function reopen() {
    for (const each of list.querySelectorAll("[aria-expanded=true]"))
      each.parentElement?.replaceWith(item(steps[Number(/** @type {HTMLElement} */ (each).dataset.step)]));
    const button = list.querySelector(`[data-step="${openedStep()}"]`);
    if (button) {
      const made = item(steps[openedStep()]);
      button.parentElement?.replaceWith(made);
      reveal(made);
    } else isSought = true; // the step may be in a later slice
    box();
  }

  async function showMore() {
    const { parts, stage } = state.get();
    limit += CHUNK;
    if (parts && limit > steps.length && steps.length < total) {
      const number = request;
      const found = await parts.steps(stage, steps.length, ASK);
      if (number !== request) return;
      steps = [...steps, ...found.steps];
      count();
    }
    show(list.querySelectorAll("[data-step]").length);
  }

  return together(
    () => (request += 1),
    () => stopMaking(),
    bindButtons(outcomes, state, "outcome", "outcome"),
    mountWithoutShown(part(root, "without"), state),
    bindSwitch(selectedOnly, state, "steps-selected"),
    listen(rule, { change: () => state.set({ rule: rule.value }) }),
    state.watch(["outcome", "rule"], relist),
    watchSwitch(state, "steps-selected", relist),
    listen(more, { click: (event) => closest(event, "button") && void showMore() }),
    mountPreview(list, state, (event) => {
      const step = steps[Number(closest(event, "[data-step]")?.dataset.step ?? -1)];
      return step ? originsOf(step) : [];
    }),
    listen(list, {
      click: (event) => {
        const first = closest(event, "[data-first-change]")?.dataset.firstChange;
        if (first) return state.set({ stage: Number(first) });
        const at = Number(closest(event, "[data-step]")?.dataset.step ?? -1);
        const step = steps[at];
        if (!step) return;
        const { graph, before, stage } = state.get();
        state.set({
          step: openedStep() === at ? "" : `${stage}:${at}`,
          ...selectValues([graph, before], [...step.made, step.at, ...step.took]),
        });
        /** @type {HTMLElement | null} */ (list.querySelector(`[data-step="${at}"]`))?.focus();
      },
    }),
    () => state.set({ boxed: [] }),
    state.watch(["parts", "stage"], () => void load()),
    state.watch(["step"], reopen),
    state.watch(["selection", "at", "graph", "before"], mark),
  );
}

/**
 * @param {Step} step
 * @param {number} index
 * @param {boolean} selected
 */
function row(step, index, selected) {
  const applied = step.outcome === "applied";
  const button = el(
    "button",
    { class: "step", type: "button", "data-outcome": step.outcome, "data-selected": selected },
    el("span", { class: "step-mark", "aria-hidden": "true" }, applied ? "✓" : "–"),
    el(
      "span",
      {},
      el(
        "span",
        { class: "step-line" },
        el("span", { class: "visually-hidden" }, word(`steps.${step.outcome}`)),
        el("span", { class: "step-rule" }, step.rule),
        step.exact
          ? null
          : el(
              "span",
              { class: "badge", "data-kind": "inexact", title: word("steps.inexact-words") },
              word("steps.inexact"),
            ),
      ),
      el("span", { class: "step-because" }, unbroken(step.because)),
      el("br"),
      el(
        "span",
        { class: "step-nodes" },
        applied && step.made.length
          ? `${names(step.took)} → ${names(step.made)}`
          : step.took.length > 1
            ? names(step.took)
            : word("steps.at", { at: step.at }),
      ),
    ),
  );
  button.dataset.step = String(index);
  return breakNames(button);
}

/**
 * Return the details of a step: its rule, and all values.
 * @param {Step} step
 * @param {import("../../results/rules.js").Declared | undefined} rule
 * @param {import("../../state/page.js").PageState} state
 */
function explain({ took, made, source, error, seconds, saves }, rule, state) {
  const fold = (/** @type {"example" | "near-miss"} */ kind, /** @type {string} */ text, says = "") =>
    foldOf(
      el("details", {}, el("summary", {}, word(`steps.${kind}`)), says ? el("p", { class: "step-unmatched" }, unbroken(says)) : null, el("pre", { class: "code", tabIndex: 0, role: "region", "aria-label": word(`steps.${kind}`) }, text)),
      state,
      kind,
      "rule",
    );
  const facts = /** @type {[string, Node | string][]} */ ([]);
  if (rule && "pattern" in rule && rule.pattern) facts.push(["steps.pattern", el("code", {}, rule.pattern)]);
  if (took.length) facts.push(["steps.took", el("code", {}, took.join(", "))]);
  if (made.length) facts.push(["steps.made", el("code", {}, made.join(", "))]);
  if (saves && (saves.flops || saves.bytes || saves.bytes_read))
    facts.push([isCost(saves) ? "steps.costs" : "steps.saves", savings(saves)]);
  if (error) facts.push(["steps.error", word("steps.error-words", { error: formatError(error, 0) })]);
  facts.push(["steps.seconds", formatSeconds(seconds)]);
  if (source) facts.push(["steps.source", el("code", {}, source)]);
  const example = rule?.example;
  return el(
    "div",
    { class: "step-more" },
    ...paragraphs(rule?.words ?? "").map((text) => prose(text)),
    el(
      "dl",
      { class: "facts" },
      ...facts.flatMap(([key, content]) => [el("dt", {}, word(key)), el("dd", {}, content)]),
    ),
    example ? fold("example", exampleText(example)) : null,
    rule?.near_miss ? fold("near-miss", rule.near_miss.trim(), rule.near_miss_because && word("steps.near-miss-because", { why: rule.near_miss_because })) : null,
  );
}


/** @param {string[]} values */
function names(values) {
  return values.length > 3
    ? `${values.slice(0, 2).join(", ")} ${word("n-more", { n: values.length - 2 })}`
    : values.join(", ");
}
