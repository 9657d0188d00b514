// Messages under the lines of the editor that they concern. A message disappears when its line changes.
import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, WidgetType } from "@codemirror/view";
import { el } from "../../elements/dom.js";

/** @typedef {import("./editor.js").Mistake} Mistake */

/** Replaces all messages. @type {import("@codemirror/state").StateEffectType<Mistake[]>} */
export const setMistakes = StateEffect.define();

/** A message below its line, with an arrow at its column. */
class Message extends WidgetType {
  /** @param {string} text */
  constructor(text) {
    super();
    this.text = text;
  }

  /** @param {Message} other */
  eq(other) {
    return other.text === this.text;
  }

  toDOM() {
    return el("div", { class: "editor-mistake", role: "alert" }, this.text);
  }
}

const wrongLine = Decoration.line({ class: "editor-wrong-line" });

/**
 * Return the decorations of messages; those at a line outside of the text stand at its nearest line.
 * @param {import("@codemirror/state").Text} doc
 * @param {Mistake[]} found
 */
export function decorations(doc, found) {
  const ranges = found.flatMap(({ line, message }) => {
    const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
    const widget = Decoration.widget({ widget: new Message(message), block: true, side: 1 });
    return [...(line >= 1 ? [wrongLine.range(at.from)] : []), widget.range(at.to)];
  });
  return Decoration.set(ranges, true);
}

export const mistakes = StateField.define({
  create: () => Decoration.none,
  update(shown, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setMistakes)) return decorations(transaction.newDoc, effect.value);
    }
    if (!transaction.docChanged) return shown;
    const { startState, changes } = transaction;
    const changed = /** @type {Set<number>} */ (new Set());
    changes.iterChangedRanges((from, to) => {
      const last = startState.doc.lineAt(to).number;
      for (let line = startState.doc.lineAt(from).number; line <= last; line++) changed.add(line);
    });
    return shown
      .update({ filter: (from) => !changed.has(startState.doc.lineAt(from).number) })
      .map(changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});
