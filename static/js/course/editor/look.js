// The look of the editor, from the colours and sizes of tokens.css, so that it follows the theme.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--surface)", fontSize: "var(--text-m)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", minHeight: "8em" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-gutters": {
    color: "var(--ink-muted)",
    backgroundColor: "var(--sunken)",
    borderRight: "1px solid var(--line)",
  },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "var(--hover)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--selected)" },
  ".cm-content ::selection": { backgroundColor: "var(--selected)" },
  "& .editor-wrong-line": { backgroundColor: "var(--removed-wash)" },
  ".editor-mistake": {
    padding: "var(--space-1) var(--space-2)",
    borderLeft: "3px solid var(--removed)",
    color: "var(--removed)",
    backgroundColor: "var(--surface)",
    fontFamily: "var(--sans)",
    whiteSpace: "pre-wrap",
  },
});

/** Rules of the shadow root around the view. */
export const AROUND = `
:host { display: block; border: 1px solid var(--line-strong); border-radius: var(--radius); overflow: hidden; }
.editor-help { margin: 0; padding: var(--space-1) var(--space-2); color: var(--ink-muted);
  font: var(--text-s) var(--sans); border-top: 1px solid var(--line); }
`;

const highlighting = HighlightStyle.define([
  { tag: tags.comment, color: "var(--ink-muted)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--added)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--changed)" },
  { tag: [tags.meta, tags.standard(tags.variableName)], color: "var(--refined)" },
]);

export const look = [theme, syntaxHighlighting(highlighting)];
