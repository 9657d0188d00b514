// Writing a model on the start screen: examples, an editor that is checked while somebody types, completion.
import { api } from "../api.js";
import { asProblem } from "../compile.js";
import { el, listen, part } from "../dom.js";
import { together } from "../state.js";
import { word } from "../words.js";
import { completions, splitText } from "../writing.js";
import { mountTextEditor } from "./text_editor.js";

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
  const says = part(root, "write-says");
  /** @type {import("../wire.js").Writing | null} */
  let writing = null;
  /** @type {CheckedText} */
  let checked = NOTHING;
  let request = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const editor = mountTextEditor(box, {
    language: "written",
    complete: (text, at) =>
      completions(text, at, functions(), checked.lines.map(({ name }) => name)),
    changed: () => state.set({ written: `${language()}:${area.value}` }),
  });
  const { area } = editor;

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

  /** Marks under what is wrong, and the types of lines behind them. */
  function show() {
    const behind = checked.lines.map(({ line, name, type }) => ({ line, words: `${name}: ${type}` }));
    editor.show(checked.problems, behind);
    says.textContent = checked.n_nodes === null ? "" : word("write.right", { n: checked.n_nodes });
  }

  const functions = () => [
    ...(writing?.makers ?? []).map((each) => ({ ...each, family: "" })),
    ...state.get().operators.values(),
  ];

  return together(
    () => clearTimeout(timer),
    editor.stop,
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
