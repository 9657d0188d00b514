// The editor of an answer: a text area with line numbers and marked lines. Tab moves the focus, as everywhere.
import { part, partOf } from "../elements/dom.js";

/**
 * @typedef {object} Answer
 * @property {() => string} text
 * @property {(text: string) => void} put replaces the text
 * @property {(problems: Pick<import("../state/page.js").PageProblem, "where">[]) => void} mark marks the lines of problems
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
    text: () => area.value,
    put(next) {
      area.focus();
      area.select();
      insert(area, next);
    },
    mark(problems) {
      marked = new Set(problems.flatMap(({ where }) => (where?.line ? [where.line] : [])));
      show();
    },
  };
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
