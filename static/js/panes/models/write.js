// The model editor on the start screen: examples, checks while typing, completion.
import { ApiError, api } from "../../server/api.js";
import { asProblem } from "../../jobs/compile.js";
import { el, listen, part } from "../../elements/dom.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { completions, splitText, verdictOn } from "../../text/writing.js";
import { mountTextEditor } from "./text_editor.js";

const CHECK_AFTER_MS = 250;
/** The HTTP status of an answer that rejects the text. */
const REFUSED = 400;

/**
 * @typedef {import("../../state/page.js").PageState} PageState
 */

/**
 * @param {HTMLElement} root the start screen
 * @param {PageState} state
 * @returns {() => void}
 */
export function mountWrite(root, state) {
  const box = part(root, "write");
  const says = part(root, "write-says");
  /** @type {import("../../wire.js").Writing | null} */
  let writing = null;
  let request = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const editor = mountTextEditor(box, {
    language: "written",
    complete: (text, at) =>
      completions(text, at, functions(), lines().map(({ name }) => name)),
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
    const chosen = { shapes: {}, upload: null, inspected: null, problem: null };
    state.set({ model: "written", written, reading: null, ...chosen });
    area.focus();
    area.setSelectionRange(0, 0);
  }

  async function check() {
    const number = ++request;
    const { language: kind, text } = splitText(state.get().written);
    const reading = await readingOf(kind, text);
    if (number === request) state.set({ reading });
  }

  const lines = () => state.get().reading?.found.lines ?? [];

  /** Underline the errors, and annotate lines with the types of their values. @param {import("../../state/page.js").PageProblem[]} problems */
  function mark(problems) {
    editor.show(problems, lines().map(({ line, name, type }) => ({ line, words: `${name}: ${type}` })));
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
      // The positions of errors are unknown until the next check.
      mark([]);
      clearTimeout(timer);
      if (model === "written") timer = setTimeout(() => void check(), CHECK_AFTER_MS);
    }),
    state.watch(["reading"], ({ reading }) => {
      mark(reading?.found.problems ?? []);
      const { n_nodes = null } = reading?.found ?? {};
      const { key, n } = verdictOn(reading);
      if (n_nodes !== null) says.textContent = word("write.right", { n: n_nodes });
      else says.textContent = key === "write.wrong" ? word("write.not-yet", { n }) : "";
    }),
  );
}

/**
 * @param {string} language
 * @param {string} text
 * @returns {Promise<import("../../text/writing.js").Reading>}
 */
async function readingOf(language, text) {
  try {
    return { found: await api.checkText(language, text), failed: false };
  } catch (problem) {
    const found = { problems: [asProblem(problem)], lines: [], n_nodes: null, ir: "" };
    return { found, failed: !(problem instanceof ApiError && problem.status === REFUSED) };
  }
}
