// The pipeline editor: rows to enable, move and configure; presets; the text form.
import { breakNames } from "../../elements/breaks.js";
import { api } from "../../server/api.js";
import { bindFold, foldAll, isUnfolded, unfold } from "../../state/bindings.js";
import { asProblem } from "../../jobs/compile.js";
import { clone, closest, el, listen, part, partOf } from "../../elements/dom.js";
import { PipelineTextError, moveRow, parsePipeline, passNumbers, printPipeline } from "../../text/pipeline_text.js";
import { inSlices } from "../../elements/slices.js";
import { together } from "../../state/state.js";
import { nextTask } from "../../elements/scheduling.js";
import { word } from "../../text/words.js";

/**
 * @typedef {import("../../text/pipeline_text.js").Row} Row
 * @typedef {import("../../wire.js").Pipelines} Pipelines
 */

/** Number of rows built per task; each row has forty elements. */
const SLICE = 8;

/** @param {import("../../wire.js").Preset[]} presets */
const presetOptions = (presets) =>
  presets.map(({ name, imitates }) => {
    const shown = imitates ? word("pipeline.imitation", { name, system: imitates }) : name;
    return el("option", { value: name }, shown);
  });

/**
 * @param {HTMLElement} root the start screen
 * @param {import("../../state/page.js").PageState} state with the pipeline to edit
 * @param {import("../../state/page.js").PageState} [look] state of the open folds
 * @returns {() => void}
 */
export function mountPipeline(root, state, look = state) {
  const options = look === state ? "options" : "compare-options";
  const fold = look === state ? "pipeline-text" : "compare-text";
  const list = part(root, "rows");
  const preset = partOf(root, "preset", HTMLSelectElement);
  const add = partOf(root, "add", HTMLSelectElement);
  const text = partOf(root, "text", HTMLTextAreaElement);
  const textProblem = part(root, "text-problem");
  let stopMaking = () => {};
  /** @type {Map<string, string>} errors reported by the compiler, by text of the row */
  const wrong = new Map();

  const rows = () => parsePipeline(state.get().pipeline);
  const put = (/** @type {Row[]} */ next) => state.set({ pipeline: printPipeline(next) });
  const indexOf = (/** @type {Event} */ event) =>
    Number(closest(event, ".pipeline-row")?.dataset.row ?? -1);

  function onClick(/** @type {Event} */ event) {
    const what = closest(event, "button")?.dataset.part;
    const at = indexOf(event);
    if (!what || at < 0) return;
    if (what === "up") move(at, at - 1, "up");
    if (what === "down") move(at, at + 1, "down");
    if (what === "remove") {
      foldAll(look, options);
      put(rows().filter((_, i) => i !== at));
      focusRow(Math.min(at, rows().length - 1), "remove");
    }
    if (what === "options") {
      unfold(look, options, at, !isUnfolded(look, options, at));
      focusRow(at, "options");
    }
  }

  function move(
    /** @type {number} */ from,
    /** @type {number} */ to,
    /** @type {string} */ button,
  ) {
    foldAll(look, options);
    put(moveRow(rows(), from, to));
    focusRow(to, button);
  }

  function focusRow(/** @type {number} */ at, /** @type {string} */ name) {
    // The rows were rebuilt; a disabled button cannot take the focus.
    const row = list.querySelector(`[data-row="${at}"]`);
    const target =
      row?.querySelector(`[data-part="${name}"]:not(:disabled)`) ??
      row?.querySelector("button:not(:disabled)");
    if (target instanceof HTMLElement) target.focus();
  }

  function onChange(/** @type {Event} */ event) {
    const at = indexOf(event);
    const target = event.target;
    const next = rows();
    if (!next[at]) return;
    if (target instanceof HTMLInputElement && target.dataset.part === "on") {
      next[at].on = target.checked;
      put(next);
      focusRow(at, "on");
    } else if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) {
      void setOption(at, target);
    }
  }

  /** @param {number} at @param {HTMLInputElement | HTMLSelectElement} field */
  async function setOption(at, { value: written, dataset }) {
    // The focus is moving to the next field: rebuilding the row now would lose it.
    await nextTask();
    const next = rows();
    const option = dataset.option ?? "";
    const value = written.trim();
    if (value === "" || value === dataset.default) delete next[at].options[option];
    else next[at].options[option] = value;
    put(next);
    await check(printPipeline([next[at]]));
  }

  /** Validate a row after its options change. @param {string} row */
  async function check(row) {
    try {
      await api.checkPipeline(row);
    } catch (problem) {
      wrong.set(row, asProblem(problem).message);
      if (rows().some((each) => printPipeline([each]) === row)) showRows();
    }
  }

  async function onText() {
    try {
      parsePipeline(text.value);
      textProblem.textContent = "";
      state.set({ pipeline: printPipeline(parsePipeline(text.value)) });
      await api.checkPipeline(printPipeline(rows().filter((row) => row.on)));
    } catch (problem) {
      if (problem instanceof PipelineTextError)
        textProblem.textContent = word("pipeline.not-a-pass", { piece: problem.piece });
      else {
        const { message, hint } = asProblem(problem);
        textProblem.textContent = hint ? `${message}. ${hint}` : message;
      }
    }
  }

  function showRows() {
    const { pipeline, pipelines } = state.get();
    const all = parsePipeline(pipeline);
    if (!pipelines && pipeline === "") {
      list.replaceChildren(el("li", { class: "pipeline-empty" }, word("pipeline.waiting")));
      part(root, "rows-say").textContent = "";
      return;
    }
    // The reasons of a preset are valid only while its order is unchanged.
    const reasons = presetOf(pipelines, pipeline)?.lines?.map((each) => each.because) ?? [];
    const numbers = passNumbers(all);
    // If a row may have the focus, rebuild all rows in one task.
    const size = list.querySelector(".pipeline-row") ? all.length : SLICE;
    stopMaking();
    const back = placeOfFocus(list);
    list.replaceChildren();
    stopMaking = inSlices(
      all.length,
      (start, end) => {
        const row = (/** @type {number} */ i) => {
          const made = rowElement(all[i], i, all.length, pipelines, isUnfolded(look, options, i), reasons[i] ?? "");
          part(made, "index").textContent = String(numbers[i] ?? "");
          const says = wrong.get(printPipeline([all[i]]));
          if (says) made.append(el("p", { class: "pipeline-row-problem", role: "alert" }, says));
          return made;
        };
        for (let i = start; i < end; i++) list.append(row(i));
      },
      { size },
    );
    back();
    if (all.length === 0)
      list.append(el("li", { class: "pipeline-empty" }, word("pipeline.empty")));
    part(root, "rows-say").textContent = word("pipeline.count", {
      n: all.filter((row) => row.on).length,
      all: all.length,
    });
  }

  return together(
    () => stopMaking(),
    listen(list, { click: onClick, change: onChange }),
    mountDragging(list, (from, to) => {
      foldAll(look, options);
      put(moveRow(rows(), from, to));
    }),
    listen(preset, {
      change: () => (
        foldAll(look, options),
        state.set({ pipeline: presetText(state.get().pipelines, preset.value) })
      ),
    }),
    listen(add, {
      change: () => {
        put([...rows(), { name: add.value, options: {}, on: true, inside: "" }]);
        add.value = "";
      },
    }),
    listen(text, { change: () => void onText() }),
    state.watch(["pipelines"], ({ pipelines }) => {
      if (!pipelines) return;
      preset.replaceChildren(
        ...presetOptions(pipelines.presets.filter(({ imitates }) => !imitates)),
        el(
          "optgroup",
          { label: word("pipeline.imitations") },
          ...presetOptions(pipelines.presets.filter(({ imitates }) => imitates)),
        ),
        el("option", { value: "", hidden: true }, word("pipeline.own")),
      );
      add.replaceChildren(
        el("option", { value: "" }, word("pipeline.choose")),
        ...pipelines.passes.map(({ name, words }) =>
          el("option", { value: name, title: words }, name),
        ),
      );
      if (state.get().pipeline === "") state.set({ pipeline: presetText(pipelines, "default") });
    }),
    look.watch(["unfolded"], showRows),
    bindFold(/** @type {HTMLDetailsElement} */ (text.closest("details")), look, fold),
    state.watch(["pipeline", "pipelines"], ({ pipeline, pipelines }) => {
      showRows();
      text.value = parsePipeline(pipeline)
        .map((row) => printPipeline([row]))
        .join(",\n");
      text.rows = Math.min(14, Math.max(3, parsePipeline(pipeline).length));
      const found = presetOf(pipelines, pipeline);
      preset.value = found?.name ?? "";
      const own = pipelines || pipeline !== "" ? word("pipeline.own-words") : "";
      part(root, "preset-words").textContent = found?.words ?? own;
    }),
  );
}

/**
 * Record the focus within the rows; the returned function restores the focus after a rebuild.
 * @param {HTMLElement} list
 * @returns {() => void}
 */
function placeOfFocus(list) {
  const at = document.activeElement;
  const row = at instanceof HTMLElement && list.contains(at) ? at.closest("[data-row]") : null;
  if (!(row instanceof HTMLElement) || !(at instanceof HTMLElement)) return () => {};
  const { option, part: name } = at.dataset;
  const within = option ? `[data-option="${CSS.escape(option)}"]` : `[data-part="${name}"]`;
  const place = `[data-row="${row.dataset.row}"] ${within}`;
  return () => /** @type {HTMLElement | null} */ (list.querySelector(place))?.focus();
}

/**
 * @param {Pipelines | null} pipelines
 * @param {string} name
 */
function presetText(pipelines, name) {
  return printPipeline(
    parsePipeline(pipelines?.presets.find((each) => each.name === name)?.text ?? ""),
  );
}

/**
 * Return the preset with the same passes as a pipeline, independent of the format of the text.
 * @param {Pipelines | null} pipelines
 * @param {string} pipeline
 */
function presetOf(pipelines, pipeline) {
  if (!pipelines) return undefined;
  const plain = (/** @type {string} */ text) => printPipeline(parsePipeline(text));
  let known = presets.get(pipelines);
  if (!known) {
    presets.set(pipelines, (known = new Map()));
    for (const each of [...pipelines.presets].reverse()) known.set(plain(each.text), each);
  }
  return known.get(plain(pipeline));
}

/**
 * Cache of presets by normalised text; of two equal presets, the first preset.
 * @type {WeakMap<Pipelines, Map<string, Pipelines["presets"][number]>>}
 */
const presets = new WeakMap();

/**
 * @param {Row} row
 * @param {number} i
 * @param {number} n
 * @param {Pipelines | null} pipelines
 * @param {boolean} opened
 * @param {string} because
 * @returns {HTMLElement}
 */
function rowElement(row, i, n, pipelines, opened, because) {
  const item = /** @type {HTMLElement} */ (clone("pipeline-row").firstElementChild);
  const info = pipelines?.passes.find((each) => each.name === row.name);
  item.dataset.row = String(i);
  item.draggable = true;
  item.toggleAttribute("data-off", !row.on);
  const on = partOf(item, "on", HTMLInputElement);
  on.checked = row.on;
  on.setAttribute("aria-label", word("pipeline.switch", { name: row.name }));
  part(item, "name").textContent = row.name;
  breakNames(part(item, "name"));
  part(item, "words").textContent = row.inside
    ? word("pipeline.group", { inside: row.inside.replaceAll(",", ", ") })
    : info
    ? firstSentence(info.words)
    : pipelines
      ? word("pipeline.unknown")
      : "";
  part(item, "because").hidden = because === "";
  part(item, "because").textContent = because;
  for (const [name, off] of /** @type {[string, boolean][]} */ ([
    ["up", i === 0],
    ["down", i === n - 1],
    ["remove", false],
    ["options", !info?.options.length],
  ])) {
    const button = partOf(item, name, HTMLButtonElement);
    button.disabled = off;
    button.title = word(`pipeline.${name}`, { name: row.name });
    button.setAttribute("aria-label", button.title);
  }
  const options = partOf(item, "options", HTMLButtonElement);
  options.hidden = !info?.options.length;
  options.setAttribute("aria-expanded", String(opened));
  const fields = part(item, "option-fields");
  fields.hidden = !opened;
  if (opened) fields.append(...(info?.options ?? []).map((option) => optionField(option, row)));
  return item;
}

/**
 * @param {import("../../wire.js").PassOption} option
 * @param {Row} row
 */
function optionField(option, row) {
  const value = row.options[option.name] ?? option.default;
  const properties = { class: "field", title: option.words, "aria-description": option.words };
  const field = option.choices.length
    ? el(
        "select",
        properties,
        ...option.choices.map((choice) =>
          el("option", { value: choice, selected: choice === value }, choice),
        ),
      )
    : el("input", { ...properties, value, autocomplete: "off", spellcheck: false });
  field.dataset.option = option.name;
  field.dataset.default = option.default;
  return el("label", {}, option.name, field);
}

/** @param {string} words */
function firstSentence(words) {
  return words.split(/(?<=\.)\s|\n\n/)[0];
}

/**
 * Drag rows with the pointer, as an alternative to the buttons.
 * @param {HTMLElement} list
 * @param {(from: number, to: number) => void} onMove
 */
function mountDragging(list, onMove) {
  let from = -1;
  const target = (/** @type {DragEvent} */ event) => {
    const row = closest(event, ".pipeline-row");
    if (!row || from < 0) return null;
    const box = row.getBoundingClientRect();
    return { row, at: Number(row.dataset.row), below: event.clientY > box.top + box.height / 2 };
  };
  const unmark = () =>
    list.querySelectorAll("[data-drop]").forEach((each) => each.removeAttribute("data-drop"));
  return listen(list, {
    dragstart: (event) => {
      from = Number(closest(event, ".pipeline-row")?.dataset.row ?? -1);
      closest(event, ".pipeline-row")?.setAttribute("data-dragging", "");
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", String(from));
    },
    dragover: (event) => {
      const over = target(event);
      unmark();
      if (!over) return;
      event.preventDefault();
      over.row.dataset.drop = over.below ? "below" : "above";
    },
    drop: (event) => {
      const over = target(event);
      unmark();
      if (!over) return;
      event.preventDefault();
      const to = over.at + (over.below ? 1 : 0);
      onMove(from, to > from ? to - 1 : to);
      from = -1;
    },
    dragend: () => {
      from = -1;
      unmark();
      list
        .querySelectorAll("[data-dragging]")
        .forEach((each) => each.removeAttribute("data-dragging"));
    },
  });
}
