// The list of passes in execution order, with effects and times. Choosing a pass selects its stage.
import { breakNames } from "../../elements/breaks.js";
import { bindValue, isOn, turn, watchSwitch } from "../../state/bindings.js";
import { clone, closest, el, listen, part, partOf, putChildren, revealSoon } from "../../elements/dom.js";
import { atMost, formatBytes, formatCount, formatDelta, formatSeconds } from "../../text/format.js";
import { paragraphs, prose } from "../../elements/prose.js";
import { constantsAdded, stageTitle, valuesAdded } from "../../results/stages.js";
import { selectedIds } from "../../state/selection.js";
import { chosenBase, differs, marksOf } from "../../results/snapshots.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";

/**
 * @typedef {import("../../wire.js").Stage} Stage
 * @typedef {import("../../wire.js").Result} Result
 */

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountPassList(root, state) {
  root.replaceChildren(clone("pass-list"));
  const list = part(root, "list");
  const filter = partOf(root, "filter", HTMLInputElement);
  const base = partOf(root, "base", HTMLSelectElement);
  const order = partOf(root, "order", HTMLSelectElement);
  const rows = keptElements(({ stage, before }) => el("li", {}, row(stage, before)));
  const choices = keptElements(({ stage }) => el("option", { value: String(stage.stage) }, stageTitle(stage)));
  const noChoice = el("option", { value: "-1" }, word("text.stage-before"));

  function show() {
    const { result, stage, numerics, filter: typed, order: chosen } = state.get();
    const wanted = typed.trim().toLowerCase();
    const isOpen = isOn(state, "unchanged-passes");
    const all = result?.stages ?? [];
    // A search finds unchanged passes too.
    const stages = all.filter((each) =>
      wanted ? each.name.toLowerCase().includes(wanted) : isOpen || !canFold(each) || each.stage === stage,
    );
    const before = (/** @type {Stage} */ { stage: n }) => result?.stages[n - 1] ?? null;
    const by = chosen && ORDERS[chosen];
    const sorted = by ? stages.sort((a, b) => by(a, before(a)) - by(b, before(b))) : stages;
    const items = sorted.map((each) => rows({ stage: each, before: before(each) }));
    list.toggleAttribute("data-sorted", by !== "");
    const end = result && stoppedAt(result);
    if (end) items.push(end);
    const unchanged = all.filter(canFold).length;
    if (!wanted && unchanged > 0) items.push(fold(unchanged, isOpen));
    if (stages.length === 0)
      items.push(el("li", { class: "passes-none" }, word("passes.none-fit", { filter: wanted })));
    putChildren(list, items);
    mark();
    badges(list, numerics.found?.rows ?? []);
    touches(list, state.get());
  }

  function mark() {
    const { stage, base: chosen } = state.get();
    for (const each of /** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll("[data-stage]"))) {
      const at = Number(each.dataset.stage);
      each.toggleAttribute("data-base", at === chosen);
      if (at === stage) {
        each.setAttribute("aria-current", "step");
        revealSoon(each);
      } else each.removeAttribute("aria-current");
    }
  }

  return together(
    listen(list, {
      click: (event) => {
        if (closest(event, "[data-fold]")) {
          turn(state, "unchanged-passes", !isOn(state, "unchanged-passes"));
          /** @type {HTMLElement | null} */ (list.querySelector("[data-fold]"))?.focus();
        }
        const stage = closest(event, "[data-stage]")?.dataset.stage;
        if (stage !== undefined) state.set({ stage: Number(stage) });
      },
    }),
    bindValue(filter, state, "filter"),
    bindValue(order, state, "order"),
    listen(order, { change: () => (list.scrollTop = 0) }),
    listen(base, { change: () => state.set({ base: Number(base.value) }) }),
    state.watch(["result", "base"], ({ result, base: chosen }) => {
      putChildren(base, [noChoice, ...(result?.stages ?? []).map((stage) => choices({ stage, before: null }))]);
      const stage = chosenBase(result?.stages ?? [], chosen);
      base.value = String(stage);
      root.toggleAttribute("data-against", stage >= 0);
    }),
    state.watch(["base"], mark),
    state.watch(["result"], ({ result }) => {
      part(root, "summary").textContent = result ? summary(result) : "";
    }),
    state.watch(["result", "filter", "order"], show),
    watchSwitch(state, "unchanged-passes", show),
    state.watch(["numerics"], ({ numerics }) => badges(list, numerics.found?.rows ?? [])),
    state.watch(["stage", "result", "pipelines"], ({ stage, result, pipelines }) => {
      const found = result?.stages[stage];
      if (!found) return;
      const full = pipelines?.passes.find((each) => each.name === found.name)?.words || found.words;
      part(root, "words").replaceChildren(
        el("p", {}, el("strong", {}, found.stage === 0 ? word("passes.imported") : found.name)),
        ...paragraphs(full).map((text) => prose(text)),
      );
    }),
    state.watch(["stage"], () => (isOn(state, "unchanged-passes") ? mark() : show())),
    state.watch(["selection", "at", "graph", "before"], (page) => touches(list, page)),
  );
}

/**
 * Cache elements by content, because a running job reports all stages repeatedly.
 * @param {(told: {stage: Stage, before: Stage | null}) => HTMLElement} make
 * @returns {typeof make}
 */
function keptElements(make) {
  /** @type {Map<string, HTMLElement>} */
  const kept = new Map();
  return (told) => {
    const key = JSON.stringify(told);
    const found = kept.get(key) ?? make(told);
    kept.set(key, found);
    return found;
  };
}

/**
 * Sort keys of the list, ascending.
 * @type {Record<Exclude<(typeof import("../../state/url.js").ORDERS)[number], "">, (stage: Stage, before: Stage | null) => number>}
 */
const ORDERS = {
  bytes: (stage, before) => (before ? valuesAdded(stage, before) + constantsAdded(stage, before) : Infinity),
  nodes: (stage, before) => (before ? stage.n_nodes - before.n_nodes : Infinity),
  time: (stage, before) => (before ? -stage.seconds : Infinity),
};

/** @param {Stage} stage */
const canFold = ({ stage, changed }) => stage > 0 && !changed;

/**
 * Return the line that shows or hides the passes without changes.
 * @param {number} n
 * @param {boolean} isOpen
 */
function fold(n, isOpen) {
  const button = el(
    "button",
    { class: "passes-fold", type: "button", "aria-expanded": String(isOpen) },
    word(isOpen ? "passes.unfold" : "passes.fold", { n }),
  );
  button.dataset.fold = "";
  return el("li", {}, button);
}

/**
 * Return the line below the passes that explains an incomplete result.
 * @param {Result} result
 */
function stoppedAt({ state, error, complete }) {
  if (complete || state === "running") return null;
  const words = error ? `${error.code}: ${error.message}` : word("passes.cancelled");
  return el(
    "li",
    { class: "passes-stopped" },
    el("span", { class: "badge", "data-kind": "removed" }, word("passes.stopped")),
    el("span", {}, words),
  );
}

/** @param {Result} result */
function summary({ passes: { n_passes: n, n_changed: changed, seconds } }) {
  return word("passes.summary", { n, changed, time: formatSeconds(seconds) });
}

/**
 * @param {Stage} stage
 * @param {Stage | null} before
 */
function row(stage, before) {
  const facts = [];
  if (!before)
    facts.push(
      el("span", {}, word("n-nodes", { n: stage.n_nodes, count: formatCount(stage.n_nodes) })),
    );
  else if (stage.changed) {
    const delta = stage.n_nodes - before.n_nodes;
    facts.push(
      el(
        "span",
        { class: delta < 0 ? "fewer" : delta > 0 ? "more" : "" },
        word("passes.delta", { n: Math.abs(delta), delta: formatDelta(delta) }),
      ),
    );
  }
  if (before) {
    facts.push(
      ...bytesFact("values", valuesAdded(stage, before), before.value_bytes, stage.value_bytes),
      ...bytesFact("constants", constantsAdded(stage, before), before.constant_bytes, stage.constant_bytes),
    );
  }
  if (stage.n_applied)
    facts.push(
      el(
        "span",
        {},
        word("passes.applied", { n: stage.n_applied, count: formatCount(stage.n_applied) }),
      ),
    );
  if (stage.n_declined)
    facts.push(
      el(
        "span",
        {},
        word("passes.declined", { n: stage.n_declined, count: formatCount(stage.n_declined) }),
      ),
    );
  if (before && !stage.changed) facts.unshift(el("span", {}, word("passes.unchanged")));
  const button = el(
    "button",
    { class: "pass-row", type: "button", "data-unchanged": !stage.changed && before !== null },
    el("span", { class: "pass-index number" }, String(stage.pass_number ?? "")),
    breakNames(el("span", { class: "pass-name" }, before ? stage.name : word("passes.imported"))),
    el("span", { class: "pass-time number" }, formatSeconds(stage.seconds)),
    el("span", { class: "pass-facts" }, ...facts),
  );
  button.dataset.stage = String(stage.stage);
  return button;
}

/**
 * Return an element with the additional bytes of values or constants; none if nothing was added or removed.
 * @param {"values" | "constants"} kind
 * @param {number} added
 * @param {number | null} then
 * @param {number | null} now
 */
function bytesFact(kind, added, then, now) {
  if (added === 0 || then === null || now === null) return [];
  const title = word(`passes-hint.${kind}`, { before: formatBytes(then), after: formatBytes(now) });
  const delta = `${added > 0 ? "+" : ""}${formatBytes(added)}`;
  return [el("span", { class: added < 0 ? "fewer" : "more", title }, word(`passes-bytes.${kind}`, { delta }))];
}

/**
 * Show the error badges of the checked stages that changed the graph.
 * @param {HTMLElement} list
 * @param {import("../../wire.js").CheckedStage[]} checked
 */
function badges(list, checked) {
  const rows = new Map(checked.map((each) => [String(each.stage), each]));
  for (const button of list.querySelectorAll(".pass-row")) {
    button.querySelector(".pass-error")?.remove();
    const found = rows.get(/** @type {HTMLElement} */ (button).dataset.stage ?? "");
    if (!found?.changed) continue;
    const { mark, relative_error: error } = found;
    const text = error === null ? word("numerics.badge-odd") : word("numerics.badge", { error: atMost(error) });
    const title = word(`numerics-badge.${mark}`, { moved: word(found.has_moved ? "numerics.moved" : "numerics.same") });
    const badge = el("span", { class: "pass-error", "data-mark": mark, title }, mark === "ok" ? text : `⚠ ${text}`);
    if (found.has_moved) badge.dataset.moved = "";
    button.querySelector(".pass-facts")?.append(badge);
  }
}

/**
 * Mark the current stage if its pass changed a selected node.
 * @param {HTMLElement} list
 * @param {import("../../state/page.js").Page} page
 */
function touches(list, page) {
  list.querySelectorAll(".pass-touches").forEach((each) => each.classList.remove("pass-touches"));
  const { graph, before, result, stage } = page;
  if (
    !graph ||
    !before ||
    !differs(result?.stages ?? [], stage, page.base) ||
    (page.selection.length === 0 && page.at === "")
  )
    return;
  const removed = new Set(graph.removed);
  const marks = marksOf(graph);
  const marked = [
    ...graph.nodes.filter((node) => marks.has(node.id)),
    ...before.nodes.filter((node) => removed.has(node.id)),
  ];
  if (selectedIds(marked, page).size > 0)
    list.querySelector(`[data-stage="${stage}"]`)?.classList.add("pass-touches");
}
