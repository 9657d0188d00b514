// The editor of answers. Its code is loaded with the first editor; without it, a plain text field takes its place.
import { el } from "../../elements/dom.js";

/**
 * @typedef {object} Mistake a message at a place of the text
 * @property {number} line from 1
 * @property {number} [column] from 1
 * @property {string} message
 *
 * @typedef {object} Options
 * @property {string} label the name of the editor for screen readers
 * @property {string} [text] the text at first
 * @property {"python" | "text"} [language]
 * @property {(text: string) => void} [onChange] called after each change by the reader
 * @property {() => void} [onRun] called for Ctrl+Enter
 *
 * @typedef {object} Editor
 * @property {() => string} text
 * @property {(text: string) => void} setText
 * @property {(mistakes: Mistake[]) => void} showMistakes show messages under their lines, instead of the previous ones
 * @property {() => void} focus
 * @property {() => void} remove
 */

/**
 * Open an editor in an element.
 * @param {HTMLElement} root
 * @param {Options} options
 * @returns {Promise<Editor>}
 */
export async function openEditor(root, options) {
  try {
    const { openCodeMirror } = await import("./code_mirror.js");
    return openCodeMirror(root, options);
  } catch {
    return openTextField(root, options);
  }
}

/**
 * Open a plain text field with the interface of the editor.
 * @param {HTMLElement} root
 * @param {Options} options
 * @returns {Editor}
 */
export function openTextField(root, { label, text = "", onChange = () => {}, onRun = () => {} }) {
  const list = el("ul", { class: "answer-mistakes", role: "status" });
  const field = el("textarea", {
    class: "answer-field",
    "aria-label": label,
    spellcheck: false,
    value: text,
    oninput: () => onChange(field.value),
    /** @param {KeyboardEvent} event */
    onkeydown: (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onRun();
    },
  });
  root.append(field, list);
  return {
    text: () => field.value,
    setText: (value) => void (field.value = value),
    showMistakes: (mistakes) =>
      list.replaceChildren(
        ...mistakes.map(({ line, message }) => el("li", {}, line ? `Line ${line}: ${message}` : message)),
      ),
    focus: () => field.focus(),
    remove: () => {
      field.remove();
      list.remove();
    },
  };
}
