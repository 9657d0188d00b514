// Sortable tables, used by panes with lists.
import { breakNames } from "../../elements/breaks.js";
import { bringIntoView, closest, el, listen } from "../../elements/dom.js";
import { together } from "../../state/state.js";
import { mountPreview } from "../passes/preview.js";

/**
 * @template T
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: T) => Node | string} cell
 * @property {(row: T) => number | string} [order] makes the column sortable
 * @property {string} [id] name of the column in links; required for sortable columns
 * @property {boolean} [number]
 * @property {boolean} [whole] cells do not wrap
 * @property {string} [hint]
 */

/**
 * @template T
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state with sort column and direction
 * @param {{name: (typeof import("../../state/url.js").TABLES)[number], caption: string, columns: Column<T>[], keyOf: (row: T) => string, onPick: (row: T) => void, originsOf?: (row: T) => readonly string[]}} options
 *   `originsOf`: ONNX nodes of a row, previewed while the pointer is on the row
 * @returns {{show: (rows: T[]) => void, mark: (isSelected: (row: T) => boolean, scroll: boolean) => void, stop: () => void}}
 */
export function mountTable(root, state, { name, caption, columns, keyOf, onPick, originsOf }) {
  /** @type {T[]} */
  let rows = [];
  const sorted = () => state.get().sort.find((each) => each.startsWith(`${name}:`)) ?? "";
  /** The sort order of the drawn rows. */
  let sort = "";
  /** @type {(row: T) => boolean} */
  let isSelected = () => false;

  function draw() {
    sort = sorted();
    const [, id, way] = sort.split(":");
    const by = columns.findIndex((each) => each.order && each.id === id);
    const direction = way === "up" ? 1 : -1;
    const order = columns[by]?.order;
    const inOrder = order ? [...rows].sort((a, b) => direction * compare(order(a), order(b))) : rows;
    const cells = inOrder.map((row) => columns.map(({ cell }) => cell(row)));
    // A column without content would only take space from the others.
    const isEmpty = columns.map((_, i) => cells.length > 0 && cells.every((row) => row[i] === ""));
    const isKept = (/** @type {unknown} */ _, /** @type {number} */ i) => !isEmpty[i];
    const head = columns.map(({ title, number, hint, order: sortable }, i) => {
      const cell = el(
        "th",
        { scope: "col", class: number ? "number" : "", title: hint },
        sortable
          ? el(
              "button",
              { type: "button", "data-column": columns[i].id },
              title,
              i === by ? (direction < 0 ? " ↓" : " ↑") : "",
            )
          : title,
      );
      if (i === by) cell.setAttribute("aria-sort", direction < 0 ? "descending" : "ascending");
      return cell;
    });
    const body = inOrder.map((row, at) => {
      const line = el(
        "tr",
        { "data-selected": isSelected(row) },
        ...columns
          .map(({ number, whole }, i) => el("td", { class: number ? "number" : whole ? "" : "wrap" }, cells[at][i]))
          .filter(isKept),
      );
      line.dataset.key = keyOf(row);
      return breakNames(line);
    });
    root.replaceChildren(
      el(
        "table",
        { class: "table" },
        el("caption", { class: "visually-hidden" }, caption),
        el("thead", {}, el("tr", {}, ...head.filter(isKept))),
        el("tbody", {}, ...body),
      ),
    );
  }

  function rowAt(/** @type {Event} */ event) {
    const key = closest(event, "tr")?.dataset.key;
    return key === undefined ? undefined : rows.find((each) => keyOf(each) === key);
  }

  const click = listen(root, {
    click: (event) => {
      const column = closest(event, "[data-column]")?.dataset.column;
      if (column !== undefined) {
        const way = sorted() === `${name}:${column}:down` ? "up" : "down";
        const others = state.get().sort.filter((each) => !each.startsWith(`${name}:`));
        state.set({ sort: [...others, `${name}:${column}:${way}`].sort() });
        /** @type {HTMLElement | null} */ (
          root.querySelector(`[data-column="${column}"]`)
        )?.focus();
        return;
      }
      const row = rowAt(event);
      if (row) onPick(row);
    },
  });
  const stop = together(
    click,
    originsOf
      ? mountPreview(root, state, (event) => {
          const row = rowAt(event);
          return row ? originsOf(row) : [];
        })
      : () => {},
    state.watch(["sort"], () => sort !== sorted() && rows.length > 0 && draw()),
  );
  return {
    stop,
    show(next) {
      rows = next;
      draw();
    },
    mark(test, scroll) {
      isSelected = test;
      let first = null;
      for (const line of root.querySelectorAll("tr[data-key]")) {
        const row = rows.find(
          (each) => keyOf(each) === /** @type {HTMLElement} */ (line).dataset.key,
        );
        const selected = row !== undefined && test(row);
        line.toggleAttribute("data-selected", selected);
        if (selected) first ??= line;
      }
      if (scroll && first) bringIntoView(first);
    },
  };
}

/**
 * @param {number | string} a
 * @param {number | string} b
 */
function compare(a, b) {
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a).localeCompare(String(b));
}
