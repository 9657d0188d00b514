// The start screen: model, sizes, passes, and Compile.
import { clone, closest, el, listen, part, partOf } from "../../elements/dom.js";
import { formatBytes, formatCount, formatPercent } from "../../text/format.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { canCompile, placeOf, verdictOn } from "../../text/writing.js";
import { mountArithmetic } from "../times/arithmetic.js";
import { mountPipeline } from "../passes/pipeline.js";
import { showProblem } from "../shell/problem.js";
import { showProgress } from "../shell/progress.js";
import { mountShapes } from "../kernels/shapes.js";
import { mountUpload } from "./upload.js";
import { mountWrite } from "./write.js";

/**
 * @typedef {import("../../state/page.js").PageState} PageState
 * @typedef {import("../../wire.js").Sample} Sample
 */

/**
 * @param {HTMLElement} root
 * @param {PageState} state
 * @param {import("../../jobs/compile.js").Compiler} compiler
 * @param {() => void} goBack returns to the result that the user left
 * @returns {() => void}
 */
export function mountStart(root, state, compiler, goBack) {
  root.replaceChildren(clone("start"));
  const cards = part(root, "cards");
  const compile = partOf(root, "compile", HTMLButtonElement);
  const cancel = part(root, "cancel");
  const says = part(root, "says");
  const problem = part(root, "problem");
  const progress = part(root, "progress");

  const choose = (/** @type {HTMLElement | null} */ card) => {
    if (card)
      state.set({
        model: `sample:${card.dataset.sample}`,
        shapes: {},
        upload: null,
        inspected: null,
        problem: null,
      });
  };
  return together(
    mountUpload(root, state),
    mountWrite(root, state),
    mountShapes(root, state),
    mountPipeline(root, state),
    mountArithmetic(root, state),
    listen(cards, {
      click: (event) => choose(closest(event, "[data-sample]")),
      keydown: (event) => arrows(event, cards, choose),
    }),
    listen(compile, { click: () => void compiler.start() }),
    listen(cancel, { click: () => void compiler.cancel() }),
    listen(part(root, "return"), { click: goBack }),
    state.watch(["left"], ({ left }) => {
      part(root, "return").hidden = left === null;
    }),
    state.watch(["samples", "model"], ({ samples, model }) => showCards(cards, samples, model)),
    state.watch(["progress", "model", "samples", "upload", "partial", "reading"], (page) => {
      const busy = page.progress.state !== "";
      compile.disabled = !canCompile(page);
      cancel.hidden = !busy || page.progress.state === "uploading";
      progress.hidden = !busy;
      showProgress(progress, page.progress);
      says.textContent = busy ? page.progress.words : saysOf(page);
    }),
    state.watch(["problem", "partial"], (page) => {
      showProblem(problem, page.problem);
      if (page.problem && page.partial > 0)
        problem.append(walkAnyway(state, compiler, page.partial));
      if (page.problem) problem.scrollIntoView({ block: "nearest" });
    }),
  );
}

/**
 * Return the message about the chosen model: it is ready to compile, or the reason why it is not.
 * @param {import("../../state/page.js").Page} page
 */
function saysOf(page) {
  const name = nameOf(page);
  if (!name) return word("start.nothing");
  if (page.model !== "written") return word("start.chosen", { name });
  const { key, n, first } = verdictOn(page.reading);
  return word(key, { name, n, place: first ? placeOf(first) : "", why: first?.message ?? "" });
}

/**
 * @param {PageState} state
 * @param {import("../../jobs/compile.js").Compiler} compiler
 * @param {number} n
 */
function walkAnyway(state, compiler, n) {
  const onclick = () => void compiler.show(state.get().job);
  return el(
    "p",
    {},
    el("button", { class: "button", type: "button", onclick }, word("problem.partial", { n })),
  );
}

/**
 * @param {import("../../state/page.js").Page} page
 * @returns {string}
 */
export function nameOf({ model, samples, upload }) {
  if (model === "written") return word("write.name");
  if (model.startsWith("upload:")) return upload?.name ?? word("start.uploaded");
  const id = model.slice("sample:".length);
  return samples?.find((each) => each.id === id)?.title ?? id;
}

/**
 * @param {HTMLElement} cards
 * @param {Sample[] | null} samples
 * @param {string} model
 */
function showCards(cards, samples, model) {
  const focused =
    document.activeElement instanceof HTMLElement
      ? document.activeElement.dataset.sample
      : undefined;
  const chosen = model.startsWith("sample:") ? model.slice("sample:".length) : "";
  const all = samples ?? [];
  cards.replaceChildren(
    ...all.map((sample, i) => {
      const content = clone("model-card");
      const card = /** @type {HTMLElement} */ (content.firstElementChild);
      card.dataset.sample = sample.id;
      card.setAttribute("aria-checked", String(sample.id === chosen));
      // The group is a single Tab stop; arrow keys move within the group.
      card.tabIndex = sample.id === chosen || (chosen === "" && i === 0) ? 0 : -1;
      part(card, "title").textContent = sample.title;
      part(card, "words").textContent = sample.words;
      part(card, "facts").append(...factsOf(sample).map((text) => el("span", {}, text)));
      return card;
    }),
  );
  if (focused)
    /** @type {HTMLElement | null} */ (
      cards.querySelector(`[data-sample="${CSS.escape(focused)}"]`)
    )?.focus();
}

/**
 * @param {Sample} sample
 * @returns {string[]}
 */
function factsOf({ bytes, n_onnx_nodes: n, accuracy, weights }) {
  const facts = [];
  if (n) facts.push(word("n-onnx-nodes", { n, count: formatCount(n) }));
  facts.push(formatBytes(bytes));
  if (accuracy !== null) facts.push(word("sample.accuracy", { share: formatPercent(accuracy) }));
  else if (weights === "seeded") facts.push(word("sample.seeded"));
  return facts;
}

/**
 * @param {KeyboardEvent} event
 * @param {HTMLElement} group
 * @param {(card: HTMLElement) => void} choose
 */
function arrows(event, group, choose) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const all = /** @type {HTMLElement[]} */ ([...group.children]);
  const at = all.indexOf(/** @type {HTMLElement} */ (closest(event, "[data-sample]")));
  if (!step || at < 0) return;
  event.preventDefault();
  const next = all[(at + step + all.length) % all.length];
  next.focus();
  choose(next);
}
