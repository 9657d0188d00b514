// The editor as a view of CodeMirror: Python with highlighting, indentation, and messages under their lines.
//
// The view lives in a shadow root. There CodeMirror attaches its styles as constructed style sheets, which the
// content security policy of the page permits; in the document it would write style elements.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit, StreamLanguage } from "@codemirror/language";
import { python } from "@codemirror/legacy-modes/mode/python";
import { EditorState } from "@codemirror/state";
import { EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { el } from "../../elements/dom.js";
import { AROUND, look } from "./look.js";
import { mistakes, setMistakes } from "./mistakes.js";

/**
 * @typedef {import("./editor.js").Editor} Editor
 * @typedef {import("./editor.js").Options} Options
 */

/**
 * Open an editor in an element.
 * @param {HTMLElement} root
 * @param {Options} options
 * @returns {Editor}
 */
export function openCodeMirror(root, { label, keys, text = "", onChange = () => {}, onRun = () => {} }) {
  const host = el("div", { class: "answer-editor" });
  const shadow = host.attachShadow({ mode: "open" });
  const help = el("p", { id: "help", class: "editor-help" }, keys);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(AROUND);
  shadow.adoptedStyleSheets = [sheet];
  root.append(host);

  const run = () => {
    onRun();
    return true;
  };
  const state = EditorState.create({
    doc: text,
    extensions: [
      lineNumbers(),
      highlightSpecialChars(),
      highlightActiveLine(),
      history(),
      bracketMatching(),
      indentOnInput(),
      indentUnit.of("    "),
      StreamLanguage.define(python),
      look,
      mistakes,
      keymap.of([{ key: "Mod-Enter", run }, indentWithTab, ...historyKeymap, ...defaultKeymap]),
      EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": "help" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onChange(update.state.doc.toString());
      }),
    ],
  });
  const view = new EditorView({ state, parent: shadow, root: shadow });
  view.scrollDOM.tabIndex = 0; // long answers scroll by keyboard, too
  shadow.append(help);

  return {
    text: () => view.state.doc.toString(),
    setText: (value) =>
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } }),
    showMistakes: (found) => view.dispatch({ effects: setMistakes.of(found) }),
    focus: () => view.focus(),
    remove: () => {
      view.destroy();
      host.remove();
    },
  };
}
