// Two-way bindings between controls and the state, which the URL stores.
import { closest, listen } from "../elements/dom.js";
import { together } from "./state.js";
import { SWITCHES } from "./url.js";

/**
 * @typedef {import("./page.js").PageState} PageState
 * @typedef {import("./url.js").Place} Place
 * @typedef {(typeof SWITCHES)[number]} Switch
 * @typedef {(typeof import("./url.js").FOLDS)[number]} Fold
 * @typedef {{[K in keyof Place]: Place[K] extends string ? K : never}[keyof Place]} TextKey keys whose values are texts
 */

/** @param {PageState} state @param {TextKey} key @param {string} value */
function put(state, key, value) {
  state.set(/** @type {Partial<Place>} */ ({ [key]: value }));
}

/**
 * Bind a text field or a select.
 * @param {HTMLInputElement | HTMLSelectElement} control
 * @param {PageState} state
 * @param {TextKey} key
 * @returns {() => void}
 */
export function bindValue(control, state, key) {
  return together(
    listen(control, { [control instanceof HTMLSelectElement ? "change" : "input"]: () => put(state, key, control.value) }),
    state.watch([key], (page) => {
      if (control.value !== page[key]) control.value = page[key];
    }),
  );
}

/**
 * Bind a group of buttons, of which one is pressed; `data-NAME` is the value of a button.
 * @param {HTMLElement} group
 * @param {PageState} state
 * @param {TextKey} key
 * @param {string} name
 * @returns {() => void}
 */
export function bindButtons(group, state, key, name) {
  return together(
    listen(group, {
      click: (event) => {
        const chosen = closest(event, `[data-${name}]`)?.dataset[name];
        if (chosen !== undefined) put(state, key, chosen);
      },
    }),
    state.watch([key], (page) => {
      for (const each of group.querySelectorAll("button"))
        each.setAttribute("aria-pressed", String(each.dataset[name] === page[key]));
    }),
  );
}

/** @param {PageState} state @param {Switch} name */
export const isOn = (state, name) => state.get().on.includes(name);

/**
 * @param {PageState} state
 * @param {Switch} name
 * @param {boolean} on
 */
export function turn(state, name, on) {
  const { on: now } = state.get();
  if (now.includes(name) !== on)
    state.set({ on: SWITCHES.filter((each) => (each === name ? on : now.includes(each))) });
}

/**
 * Call a function now and whenever this switch changes, but not when other switches change.
 * @param {PageState} state
 * @param {Switch} name
 * @param {(on: boolean) => void} fn
 * @returns {() => void}
 */
export function watchSwitch(state, name, fn) {
  /** @type {boolean | null} */
  let was = null;
  return state.watch(["on"], ({ on }) => {
    const now = on.includes(name);
    if (now === was) return;
    was = now;
    fn(now);
  });
}

/**
 * Bind a checkbox to a switch.
 * @param {HTMLInputElement} box
 * @param {PageState} state
 * @param {Switch} name
 * @returns {() => void}
 */
export function bindSwitch(box, state, name) {
  return together(
    listen(box, { change: () => turn(state, name, box.checked) }),
    watchSwitch(state, name, (on) => (box.checked = on)),
  );
}

/**
 * Bind a details element to a switch: open means on.
 * @param {HTMLDetailsElement} details
 * @param {PageState} state
 * @param {Switch} name
 * @returns {() => void}
 */
export function bindFold(details, state, name) {
  return together(
    listen(details, { toggle: () => turn(state, name, details.open) }),
    watchSwitch(state, name, (on) => (details.open = on)),
  );
}

/** @param {PageState} state @param {Fold} kind @param {string | number} which */
export const isUnfolded = (state, kind, which) => state.get().unfolded.includes(`${kind}:${which}`);

/**
 * @param {PageState} state
 * @param {Fold} kind
 * @param {string | number} which
 * @param {boolean} on
 */
export function unfold(state, kind, which, on) {
  const { unfolded } = state.get();
  const name = `${kind}:${which}`;
  if (unfolded.includes(name) !== on)
    state.set({ unfolded: on ? [...unfolded, name].sort() : unfolded.filter((each) => each !== name) });
}

/**
 * Close all folds of a kind.
 * @param {PageState} state
 * @param {Fold} kind
 */
export function foldAll(state, kind) {
  state.set({ unfolded: state.get().unfolded.filter((each) => !each.startsWith(`${kind}:`)) });
}

/**
 * Bind a details element that is created again at every redraw.
 * @param {HTMLDetailsElement} details
 * @param {PageState} state
 * @param {Fold} kind
 * @param {string | number} which
 * @param {boolean} [atFirst] whether it is open by default
 * @returns {HTMLDetailsElement}
 */
export function foldOf(details, state, kind, which, atFirst = false) {
  details.open = isUnfolded(state, kind, which) !== atFirst;
  details.addEventListener("toggle", () => {
    // An element that was replaced must not change the state.
    if (details.isConnected) unfold(state, kind, which, details.open !== atFirst);
  });
  return details;
}
