// The editor of an answer: a text area with line numbers and marked lines. Tab moves the focus, as everywhere.
// For Python, an editor with highlighting and messages under their lines takes its place once it is visible.
import { part, partOf } from "../elements/dom.js";
import { word } from "../text/words.js";
import { openEditor } from "./editor/editor.js";

/**
 * @typedef {Pick<import("../state/page.js").PageProblem, "where" | "message">} Problem
 *
 * @typedef {object} Answer
 * @property {() => string} text
 * @property {(text: string) => void} put replaces the text
 * @property {(problems: Problem[]) => void} mark marks the lines of problems
 *
 * @typedef {object} Options
 * @property {string} language "python" or "text"
 * @property {string} text
 * @property {() => void} changed
 * @property {() => void} submit called for Control+Enter
 */

/**
 * @param {HTMLElement} root with the parts of `exercise` in templates/_lesson.html
 * @param {Options} options
 * @returns {Answer}
 */
export function mountAnswer(root, { language, text, changed, submit }) {
  const area = partOf(root, "text", HTMLTextAreaElement);
  const numbers = part(root, "numbers");
  area.dataset.language = language;
  area.value = text;
  /** @type {Set<number>} */
  let marked = new Set();
  /** @type {import("./editor/editor.js").Editor | null} */
  let editor = null;
  if (language === "python") whenVisible(root, () => void replaceArea());

  /** Replace the text area by the editor; without the code of the editor, the area stays. */
  async function replaceArea() {
    const label = root.querySelector("label")?.textContent?.trim() ?? "";
    const options = { label, keys: word("exercise.keys"), text: area.value, onChange: changed, onRun: submit };
    const opened = await openEditor(root, options).catch(() => null);
    if (!opened) return;
    const isFocused = document.activeElement === area;
    if (opened.text() !== area.value) opened.setText(area.value);
    editor = opened;
    part(root, "sheet").hidden = true;
    if (isFocused) editor.focus();
  }

  function show() {
    const n = area.value.split("\n").length;
    numbers.replaceChildren(
      ...Array.from({ length: n }, (_, i) => {
        const number = document.createElement("span");
        number.textContent = String(i + 1);
        number.toggleAttribute("data-marked", marked.has(i + 1));
        return number;
      }),
    );
    area.rows = Math.max(n + 1, 6);
    area.setAttribute("aria-invalid", String(marked.size > 0));
  }

  area.addEventListener("input", () => {
    marked = new Set();
    show();
    changed();
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      submit();
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      insert(area, `\n${indentOf(area, language)}`);
    }
  });
  show();
  return {
    text: () => editor?.text() ?? area.value,
    put(next) {
      if (editor) {
        editor.focus();
        return editor.setText(next);
      }
      area.focus();
      area.select();
      insert(area, next);
    },
    mark(problems) {
      editor?.showMistakes(problems.map(({ where, message }) => ({ line: where?.line ?? 0, message })));
      marked = new Set(problems.flatMap(({ where }) => (where?.line ? [where.line] : [])));
      show();
    },
  };
}

/**
 * Call a function when an element is visible for the first time.
 * @param {HTMLElement} element
 * @param {() => void} then
 */
function whenVisible(element, then) {
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    observer.disconnect();
    then();
  });
  observer.observe(element);
}

/**
 * Replace the selection in a way that the undo of the browser records.
 * @param {HTMLTextAreaElement} area
 * @param {string} text
 */
function insert(area, text) {
  if (document.execCommand("insertText", false, text)) return;
  area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
  area.dispatchEvent(new Event("input"));
}

/**
 * Return the indentation of a line after the caret's.
 * @param {HTMLTextAreaElement} area
 * @param {string} language
 */
function indentOf(area, language) {
  const row = area.value.slice(0, area.selectionStart).split("\n").pop() ?? "";
  const indent = /^\s*/.exec(row)?.[0] ?? "";
  if (language === "python") return indent + (/:\s*$/.test(row) ? "    " : "");
  return indent + (/\{\s*$/.test(row) ? "  " : "");
}
