// The editor of code in answers. Its own code is loaded with the first editor.

/**
 * @typedef {object} Mistake a message at a place of the text
 * @property {number} line from 1
 * @property {number} [column] from 1
 * @property {string} message
 *
 * @typedef {object} Options
 * @property {string} label the name of the editor for screen readers
 * @property {string} keys the help on keys below the editor
 * @property {string} [text] the text at first
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
 * Open an editor in an element. Errors: those of loading its code.
 * @param {HTMLElement} root
 * @param {Options} options
 * @returns {Promise<Editor>}
 */
export async function openEditor(root, options) {
  const { openCodeMirror } = await import("./code_mirror.js");
  return openCodeMirror(root, options);
}
