// A text editor: a textarea over a highlighted copy, error marks, completions.
import { el, listen, part, partOf } from "../../elements/dom.js";
import { highlight } from "../../text/highlight.js";
import { together } from "../../state/state.js";
import { placeOf } from "../../text/writing.js";

/**
 * @typedef {{label: string, detail: string, insert: string}} Completion
 * @typedef {{line: number, words: string}} Behind an annotation at the end of a line
 *
 * @typedef {object} Writer
 * @property {string} language language of the syntax highlighting
 * @property {(text: string, at: number) => {from: number, found: Completion[]}} complete
 * @property {() => void} changed called after each change of the text
 */

/**
 * @param {HTMLElement} root element with the parts of `text_sheet` in templates/_macros.html
 * @param {Writer} writer
 */
export function mountTextEditor(root, writer) {
  const area = partOf(root, "write-text", HTMLTextAreaElement);
  const paper = part(root, "write-paper");
  const list = part(root, "write-list");
  const problemList = part(root, "write-problems");
  let chosen = 0;

  /** @param {import("../../state/page.js").PageProblem[]} problems @param {Behind[]} behind */
  function show(problems, behind = []) {
    paper.replaceChildren(
      ...area.value.split("\n").map((row, i) => {
        const marks = problems.filter(({ where }) => where?.line === i + 1);
        const shown = marks.length ? marked(row, marks) : colours(row);
        const hint = behind.filter(({ line }) => line === i + 1).map(({ words }) => words);
        return el(
          "div",
          { class: "write-row" },
          ...shown,
          el("span", { class: "write-type" }, hint.join(", ")),
        );
      }),
    );
    area.setAttribute("aria-invalid", String(problems.length > 0));
    problemList.replaceChildren(
      ...problems.map((problem) => {
        const { line = 0, column = 0 } = problem.where ?? {};
        const onclick = () => goTo(line, column);
        return el(
          "li",
          {},
          el(
            "button",
            { class: "link-button number", type: "button", title: problem.code, onclick },
            placeOf(problem),
          ),
          ` ${problem.message} `,
          el("span", { class: "muted" }, problem.hint ?? ""),
        );
      }),
    );
  }

  /** @param {string} row */
  function colours(row) {
    return highlight(writer.language, row).map(([kind, text]) =>
      kind ? el("span", { class: `token-${kind}` }, text) : text,
    );
  }

  /**
   * @param {string} row
   * @param {import("../../state/page.js").PageProblem[]} problems of this row
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

  function goTo(/** @type {number} */ line, /** @type {number} */ column) {
    const before = area.value.split("\n").slice(0, Math.max(line - 1, 0));
    const at = before.reduce((sum, row) => sum + row.length + 1, 0) + Math.max(column - 1, 0);
    area.focus();
    area.setSelectionRange(at, at);
  }

  function complete(/** @type {boolean} */ asked) {
    const at = area.selectionStart;
    const { from, found } = writer.complete(area.value, at);
    list.hidden = found.length === 0 || (!asked && at - from < 2);
    chosen = 0;
    if (list.hidden) return close();
    list.replaceChildren(
      ...found.map(({ label, detail, insert }, i) =>
        el(
          "li",
          {
            role: "option",
            id: `${list.id}-${i}`,
            "data-insert": insert,
            onpointerdown: (/** @type {Event} */ event) => (
              event.preventDefault(), put(from, insert)
            ),
          },
          el("b", {}, label),
          ` ${detail}`,
        ),
      ),
    );
    list.dataset.from = String(from);
    // Place the list under the word; the font is monospaced.
    const rows = area.value.slice(0, from).split("\n");
    list.style.top = `calc(${rows.length} * var(--write-line) + var(--space-2))`;
    list.style.setProperty("--at", `${Math.min(rows[rows.length - 1].length, 40)}ch`);
    // The sheet scrolls and would clip a list below its edge.
    const sheet = list.parentElement;
    const below = list.offsetTop + list.offsetHeight - (sheet?.clientHeight ?? 0);
    const row = list.offsetTop - parseFloat(getComputedStyle(area).lineHeight);
    if (sheet && below > sheet.scrollTop) sheet.scrollTop = Math.min(below, row);
    mark();
  }

  function close() {
    list.hidden = true;
    area.removeAttribute("aria-activedescendant");
  }

  function mark() {
    [...list.children].forEach((each, i) =>
      each.setAttribute("aria-selected", String(i === chosen)),
    );
    area.setAttribute("aria-activedescendant", `${list.id}-${chosen}`);
  }

  function put(/** @type {number} */ from, /** @type {string} */ insert) {
    area.focus();
    area.setSelectionRange(from, area.selectionStart);
    // `execCommand` is the only insertion that the undo of the browser records.
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

  return {
    area,
    show,
    stop: together(
      listen(area, {
        input: (event) => {
          writer.changed();
          if (/** @type {InputEvent} */ (event).inputType !== "insertFromPaste") complete(false);
        },
        keydown: onKey,
        blur: close,
      }),
    ),
  };
}
