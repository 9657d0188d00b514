// Writing a model on the start screen: examples, an editor that is checked while somebody types, completion.
import { api } from "../api.js";
import { asProblem } from "../compile.js";
import { el, listen, part, partOf } from "../dom.js";
import { highlight } from "../highlight.js";
import { together } from "../state.js";
import { word } from "../words.js";
import { completions, splitText } from "../writing.js";

const CHECK_AFTER_MS = 250;
const NOTHING = { problems: [], lines: [], n_nodes: null, ir: "" };

/**
 * @typedef {import("../page.js").PageState} PageState
 * @typedef {import("../wire.js").CheckedText} CheckedText
 */

/**
 * @param {HTMLElement} root the start screen
 * @param {PageState} state
 * @returns {() => void}
 */
export function mountWrite(root, state) {
  const box = part(root, "write");
  const area = partOf(root, "write-text", HTMLTextAreaElement);
  const paper = part(root, "write-paper");
  const list = part(root, "write-list");
  const problems = part(root, "write-problems");
  const says = part(root, "write-says");
  /** @type {import("../wire.js").Writing | null} */
  let writing = null;
  /** @type {CheckedText} */
  let checked = NOTHING;
  let request = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let chosen = 0;

  const language = () => splitText(state.get().written).language;
  api.writing().then(
    (found) => {
      writing = found;
      part(root, "write-examples").append(
        ...found.examples.map(({ name, language: kind, words, text }) => {
          const onclick = () => begin(`${kind}:${text}`);
          return el("button", { class: "button", type: "button", title: words, onclick }, name);
        }),
      );
    },
    (problem) => state.set({ problem: asProblem(problem) }),
  );

  function begin(/** @type {string} */ written) {
    state.set({ model: "written", written, shapes: {}, upload: null, inspected: null, problem: null });
    area.focus();
    area.setSelectionRange(0, 0);
  }

  function changed() {
    state.set({ written: `${language()}:${area.value}` });
  }

  async function check() {
    const number = ++request;
    const { language: kind, text } = splitText(state.get().written);
    try {
      const found = await api.checkText(kind, text);
      if (number === request) checked = found;
    } catch (problem) {
      if (number === request) checked = { ...NOTHING, problems: [asProblem(problem)] };
    }
    if (number === request) show();
  }

  /** The text in colours, marks under what is wrong, and the types of lines behind them. */
  function show() {
    const rows = area.value.split("\n");
    paper.replaceChildren(
      ...rows.map((row, i) => {
        const marks = checked.problems.filter(({ where }) => where?.line === i + 1);
        const types = checked.lines.filter(({ line }) => line === i + 1);
        const shown = marks.length ? marked(row, marks) : colours(row);
        const hint = types.map(({ name, type }) => `${name}: ${type}`).join(", ");
        return el("div", { class: "write-row" }, ...shown, el("span", { class: "write-type" }, hint));
      }),
    );
    area.setAttribute("aria-invalid", String(checked.problems.length > 0));
    problems.replaceChildren(
      ...checked.problems.map((problem) => {
        const { line = 0, column = 0 } = problem.where ?? {};
        const onclick = () => goTo(line, column);
        const place = line ? `${line}:${column}` : problem.code;
        return el(
          "li",
          {},
          el("button", { class: "link-button number", type: "button", onclick }, place),
          ` ${problem.message} `,
          el("span", { class: "muted" }, problem.hint ?? ""),
        );
      }),
    );
    says.textContent = checked.n_nodes === null ? "" : word("write.right", { n: checked.n_nodes });
  }

  function goTo(/** @type {number} */ line, /** @type {number} */ column) {
    const before = area.value.split("\n").slice(0, Math.max(line - 1, 0));
    const at = before.reduce((sum, row) => sum + row.length + 1, 0) + Math.max(column - 1, 0);
    area.focus();
    area.setSelectionRange(at, at);
  }

  const functions = () => [
    ...(writing?.makers ?? []).map((each) => ({ ...each, family: "" })),
    ...state.get().operators.values(),
  ];

  function complete(/** @type {boolean} */ asked) {
    const at = area.selectionStart;
    const names = checked.lines.map(({ name }) => name);
    const { from, found } = completions(area.value, at, functions(), names);
    list.hidden = found.length === 0 || (!asked && at - from < 2);
    chosen = 0;
    if (list.hidden) return close();
    list.replaceChildren(
      ...found.map(({ label, detail, insert }, i) =>
        el(
          "li",
          {
            role: "option",
            id: `write-option-${i}`,
            onpointerdown: (/** @type {Event} */ event) => (event.preventDefault(), put(from, insert)),
          },
          el("b", {}, label),
          ` ${detail}`,
        ),
      ),
    );
    for (const [i, each] of found.entries()) list.children[i].setAttribute("data-insert", each.insert);
    list.dataset.from = String(from);
    // Under the word: a character has the same width everywhere.
    const row = area.value.slice(0, from).split("\n");
    list.style.top = `calc(${row.length} * var(--write-line) + var(--space-2))`;
    list.style.left = `calc(${Math.min(row[row.length - 1].length, 40)}ch + var(--space-3))`;
    mark();
  }

  function close() {
    list.hidden = true;
    area.removeAttribute("aria-activedescendant");
  }

  function mark() {
    [...list.children].forEach((each, i) => each.setAttribute("aria-selected", String(i === chosen)));
    area.setAttribute("aria-activedescendant", `write-option-${chosen}`);
  }

  function put(/** @type {number} */ from, /** @type {string} */ insert) {
    area.focus();
    area.setSelectionRange(from, area.selectionStart);
    // The one way to write that the browser's own undo remembers.
    if (!document.execCommand("insertText", false, insert)) area.setRangeText(insert);
    close();
  }

  function onKey(/** @type {KeyboardEvent} */ event) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      return complete(true);
    }
    if (list.hidden) {
      if (event.key !== "Enter" || event.ctrlKey) return;
      const row = area.value.slice(0, area.selectionStart).split("\n").pop() ?? "";
      const indent = /^\s*/.exec(row)?.[0] ?? "";
      event.preventDefault();
      document.execCommand("insertText", false, `\n${indent}${/[:{]\s*$/.test(row) ? "    " : ""}`);
      return;
    }
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) {
      chosen = (chosen + by + list.children.length) % list.children.length;
      mark();
    } else if (event.key === "Enter" || event.key === "Tab") {
      put(Number(list.dataset.from), list.children[chosen].getAttribute("data-insert") ?? "");
    } else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  return together(
    () => clearTimeout(timer),
    listen(area, {
      input: (event) => {
        changed();
        if (/** @type {InputEvent} */ (event).inputType !== "insertFromPaste") complete(false);
      },
      keydown: onKey,
      blur: close,
    }),
    listen(part(root, "write-close"), { click: () => state.set({ model: "", problem: null }) }),
    state.watch(["model", "written"], ({ model, written }) => {
      box.hidden = model !== "written";
      const { text, language: kind } = splitText(written);
      if (area.value !== text) area.value = text;
      part(root, "write-language").textContent = word(`write.${kind}`);
      checked = { ...checked, problems: [] };
      show();
      clearTimeout(timer);
      if (model === "written") timer = setTimeout(() => void check(), CHECK_AFTER_MS);
    }),
  );
}

/** @param {string} row */
function colours(row) {
  return highlight("written", row).map(([kind, text]) =>
    kind ? el("span", { class: `token-${kind}` }, text) : text,
  );
}

/**
 * @param {string} row
 * @param {import("../wire.js").Problem[]} problems of this row
 * @returns {(string | HTMLElement)[]}
 */
function marked(row, problems) {
  const { column = 1, length = 1 } = problems[0].where ?? {};
  const [from, to] = [column - 1, column - 1 + Math.max(length, 1)];
  const inside = row.slice(from, to) || " ";
  return [
    ...colours(row.slice(0, from)),
    el("span", { class: "write-mark", "data-code": problems[0].code }, inside),
    ...colours(row.slice(to)),
  ];
}
