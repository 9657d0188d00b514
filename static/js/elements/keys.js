// The keyboard: one table defines the bindings and the list that `?` opens.
//
// templates/words/keys.html describes each key under `key.ID`. The list has a switch that disables
// single-letter keys (WCAG 2.1.4); then only named keys and keys with a modifier work.

const STORED = "compilarium.single-keys";

/**
 * @typedef {object} Key
 * @property {string} id
 * @property {string[]} keys values of `event.key`, with "Shift+", "Control+" in front
 * @property {"walk" | "start" | "anywhere"} where
 * @property {"page" | "graph"} scope "graph": only while the drawing has the focus
 */

/** @type {readonly Key[]} */
export const KEYS = [
  { id: "next-pass", keys: ["j", "ArrowDown"], where: "walk", scope: "page" },
  { id: "previous-pass", keys: ["k", "ArrowUp"], where: "walk", scope: "page" },
  { id: "next-any-pass", keys: ["J", "Shift+ArrowDown"], where: "walk", scope: "page" },
  { id: "previous-any-pass", keys: ["K", "Shift+ArrowUp"], where: "walk", scope: "page" },
  { id: "first-pass", keys: ["Home"], where: "walk", scope: "page" },
  { id: "last-pass", keys: ["End"], where: "walk", scope: "page" },
  { id: "filter-passes", keys: ["p"], where: "walk", scope: "page" },
  { id: "next-step", keys: [".", "Shift+ArrowRight"], where: "walk", scope: "page" },
  { id: "previous-step", keys: [",", "Shift+ArrowLeft"], where: "walk", scope: "page" },
  { id: "view-before", keys: ["b"], where: "walk", scope: "page" },
  { id: "view-diff", keys: ["d"], where: "walk", scope: "page" },
  { id: "view-after", keys: ["a"], where: "walk", scope: "page" },
  { id: "next-pane", keys: ["]"], where: "walk", scope: "page" },
  { id: "previous-pane", keys: ["["], where: "walk", scope: "page" },
  { id: "next-color", keys: ["o"], where: "walk", scope: "page" },
  { id: "search", keys: ["/", "Control+f"], where: "walk", scope: "page" },
  { id: "focus-graph", keys: ["g"], where: "walk", scope: "page" },
  { id: "fit", keys: ["f", "0"], where: "walk", scope: "page" },
  { id: "next-change", keys: ["n"], where: "walk", scope: "page" },
  { id: "next-edge", keys: ["e", "Alt+ArrowDown"], where: "walk", scope: "page" },
  { id: "previous-edge", keys: ["w", "Alt+ArrowUp"], where: "walk", scope: "page" },
  { id: "center", keys: ["c"], where: "walk", scope: "page" },
  { id: "zoom-in", keys: ["+", "="], where: "walk", scope: "page" },
  { id: "zoom-out", keys: ["-"], where: "walk", scope: "page" },
  { id: "table", keys: ["v"], where: "walk", scope: "page" },
  { id: "toggle-group", keys: ["x"], where: "walk", scope: "page" },
  { id: "open-groups", keys: ["E"], where: "walk", scope: "page" },
  { id: "close-groups", keys: ["X"], where: "walk", scope: "page" },
  { id: "next-stop", keys: ["s"], where: "walk", scope: "page" },
  { id: "previous-stop", keys: ["S"], where: "walk", scope: "page" },
  { id: "clear", keys: ["Escape"], where: "walk", scope: "page" },
  { id: "node-after", keys: ["ArrowDown"], where: "walk", scope: "graph" },
  { id: "node-before", keys: ["ArrowUp"], where: "walk", scope: "graph" },
  { id: "node-left", keys: ["ArrowLeft"], where: "walk", scope: "graph" },
  { id: "node-right", keys: ["ArrowRight"], where: "walk", scope: "graph" },
  { id: "node-select", keys: ["Enter", " "], where: "walk", scope: "graph" },
  { id: "compile", keys: ["Control+Enter", "Meta+Enter"], where: "start", scope: "page" },
  { id: "theme", keys: ["t"], where: "anywhere", scope: "page" },
  { id: "help", keys: ["?"], where: "anywhere", scope: "page" },
];

/**
 * Return the key of an event with its modifiers, as in the table. A printed character already includes Shift.
 * @param {{key: string, shiftKey: boolean, ctrlKey: boolean, metaKey: boolean, altKey: boolean}} event
 * @returns {string}
 */
export function chord(event) {
  const named = event.key.length > 1;
  return (
    (event.ctrlKey ? "Control+" : "") +
    (event.metaKey ? "Meta+" : "") +
    (event.altKey ? "Alt+" : "") +
    (event.shiftKey && named ? "Shift+" : "") +
    event.key
  );
}

/**
 * Look up a chord; the rows of the drawing take precedence.
 * @param {string} pressed
 * @param {{where: string, inGraph: boolean, single: boolean}} context
 * @returns {Key | undefined}
 */
export function findKey(pressed, context) {
  const letter = pressed.length === 1 && pressed !== " ";
  if (letter && !context.single) return undefined;
  const fits = KEYS.filter(
    (key) =>
      key.keys.includes(pressed) && (key.where === "anywhere" || key.where === context.where),
  );
  return (
    (context.inGraph && fits.find((key) => key.scope === "graph")) ||
    fits.find((key) => key.scope === "page")
  );
}

/** @returns {boolean} whether single-letter keys are enabled */
export function singleKeys() {
  return localStorage.getItem(STORED) !== "off";
}

/** @param {boolean} on */
export function setSingleKeys(on) {
  if (on) localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, "off");
}

/**
 * Bind the keys of the table to actions. If an action returns false, the browser handles the key.
 * @param {() => string} where "start" or "walk"
 * @param {Record<string, () => boolean | void>} actions by id
 * @returns {() => void}
 */
export function bindKeys(where, actions) {
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const target = event.target instanceof HTMLElement ? event.target : document.body;
    if (document.querySelector("dialog[open]")) return;
    const pressed = chord(event);
    if (ownsKey(target, pressed)) return;
    const inGraph = target.closest("[data-keys='graph']") !== null;
    const key = findKey(pressed, { where: where(), inGraph, single: singleKeys() });
    if (!key || !(key.id in actions)) return;
    if (actions[key.id]() !== false) event.preventDefault();
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}

/**
 * Return whether the focused element handles this key itself.
 * @param {HTMLElement} target
 * @param {string} pressed
 */
function ownsKey(target, pressed) {
  if (pressed.startsWith("Control+") || pressed.startsWith("Meta+")) return false;
  if (
    target.closest(
      "input:not([type=checkbox]), textarea, select, [contenteditable], [data-keys='own']",
    )
  ) {
    return pressed !== "Escape" || target.closest("dialog, select") !== null;
  }
  // Arrow keys scroll scrollable regions, and walk lists of tabs.
  if (target.closest("[data-keys='arrows']")) return /Arrow|Home|End/.test(pressed);
  return (
    (pressed === "Enter" || pressed === " ") &&
    target.matches("button, a, summary, input, [role=radio]")
  );
}
