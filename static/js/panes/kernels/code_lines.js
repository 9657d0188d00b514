// A list of linked lines of code: the pointer previews a line, a click or Enter pins it, arrows walk.
import { bringIntoView, closest, el, listen } from "../../elements/dom.js";
import { highlight } from "../../text/highlight.js";

/** @typedef {import("../../text/links.js").Linked} Linked */

/**
 * @typedef {object} CodeLines
 * @property {(text: string) => number} show returns the number of lines
 * @property {(pinned: Set<number>, previewed: Set<number>, scroll: boolean) => void} mark
 * @property {() => void} stop
 */

/** @param {string} name @param {string} line */
export function highlighted(name, line) {
  return highlight(name, line).map(([kind, piece]) =>
    kind ? el("span", { class: `token-${kind}` }, piece) : piece,
  );
}

let made = 0;

/**
 * @param {HTMLElement} root the scrolling element
 * @param {Linked} name
 * @param {string} label name for screen readers
 * @param {{pick: (line: number) => void, point: (line: number) => void}} hooks `point(-1)`: at no line
 * @returns {CodeLines}
 */
export function mountCodeLines(root, name, label, { pick, point }) {
  const prefix = `lines-${(made += 1)}`;
  /** @type {HTMLElement[]} */
  let rows = [];
  let cursor = -1;
  let shown = "";

  const indexOf = (/** @type {Event} */ event) => {
    const row = closest(event, ".code-line");
    return row ? rows.indexOf(row) : -1;
  };

  function stand(/** @type {number} */ line) {
    rows[cursor]?.removeAttribute("data-cursor");
    cursor = Math.max(0, Math.min(rows.length - 1, line));
    rows[cursor]?.setAttribute("data-cursor", "");
    if (rows[cursor]) bringIntoView(rows[cursor]);
    list()?.setAttribute("aria-activedescendant", `${prefix}-${cursor}`);
    point(cursor);
  }

  const list = () => root.querySelector("[role=listbox]");
  const pinnedLine = () => rows.findIndex((row) => row.hasAttribute("data-selected"));

  function onKey(/** @type {KeyboardEvent} */ event) {
    if (event.ctrlKey || event.metaKey || event.altKey || rows.length === 0) return;
    const from = cursor < 0 ? Math.max(0, pinnedLine()) - 1 : cursor;
    const to = {
      ArrowDown: from + 1,
      ArrowUp: from - 1,
      PageDown: from + 12,
      PageUp: from - 12,
      Home: 0,
      End: rows.length - 1,
    }[event.key];
    if (to !== undefined) stand(to);
    else if ((event.key === "Enter" || event.key === " ") && cursor >= 0) pick(cursor);
    else return;
    event.preventDefault();
  }

  return {
    show(text) {
      // The text is unchanged: keep the elements, since a line may have the focus.
      if (text === shown && root.contains(rows[0] ?? null)) return rows.length;
      shown = text;
      const lines = text.replace(/\n$/, "").split("\n");
      cursor = -1;
      rows = lines.map((line, i) =>
        el(
          "div",
          { class: "code-line", role: "option", id: `${prefix}-${i}`, "aria-selected": "false" },
          el("span", { class: "code-number" }, String(i + 1)),
          el("span", { class: "code-text" }, ...highlighted(name, line)),
        ),
      );
      root.replaceChildren(
        el(
          "div",
          {
            class: "code-lines",
            role: "listbox",
            tabIndex: 0,
            "aria-label": label,
            "data-language": name,
            "data-keys": "arrows",
          },
          ...rows,
        ),
      );
      return rows.length;
    },
    mark(pinned, previewed, scroll) {
      let first = null;
      rows.forEach((row, i) => {
        row.toggleAttribute("data-selected", pinned.has(i));
        row.setAttribute("aria-selected", String(pinned.has(i)));
        row.toggleAttribute("data-preview", previewed.has(i));
        if (previewed.size ? previewed.has(i) : pinned.has(i)) first ??= row;
      });
      if (scroll && first) reveal(root, first);
    },
    stop: listen(root, {
      click: (event) => {
        const line = indexOf(event);
        if (line >= 0 && !getSelection()?.toString()) pick(line);
      },
      pointerover: (event) => point(indexOf(event)),
      pointerleave: () => point(-1),
      focusout: () => point(-1),
      keydown: onKey,
    }),
  };
}

/**
 * Scroll a box without scrolling its ancestors.
 * @param {HTMLElement} box
 * @param {HTMLElement} row
 */
function reveal(box, row) {
  const top = row.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
  if (top < box.scrollTop || top + row.offsetHeight > box.scrollTop + box.clientHeight)
    box.scrollTop = Math.max(0, top - box.clientHeight / 3);
}
