// Opens and closes groups of the drawing: by click, by key, for search results.
import { listen, part } from "../../elements/dom.js";
import { headersOf, openGroups, pathsOf, toggle } from "../../graph/nesting.js";
import { together } from "../../state/state.js";

/**
 * @typedef {import("../../wire.js").Union} Union
 * @typedef {import("../../graph/scene.js").SceneNode} SceneNode
 *
 * @typedef {object} Groups
 * @property {(group: SceneNode) => void} toggle
 * @property {(box: SceneNode | null) => void} toggleAt toggles a group, or the group around a node
 * @property {(id: string) => string[]} toggledFor returns the toggles that make a node visible
 * @property {() => void} openAll
 * @property {() => void} closeAll
 * @property {() => void} show updates the buttons
 * @property {() => void} stop
 */

/**
 * @param {HTMLElement} root root element of the graph
 * @param {import("../../state/page.js").PageState} state
 * @param {{union: () => Union | null, frame: (key: string) => SceneNode | null, hold: (key: string) => void}} hooks
 *   `hold` fixes the position of the group on the screen
 * @returns {Groups}
 */
export function mountGroups(root, state, { union, frame, hold }) {
  const set = (/** @type {string[]} */ keys, /** @type {boolean} */ open) => {
    const drawn = union();
    if (drawn) state.set({ open: toggle(drawn, state.get().open, keys, open) });
  };
  const all = (/** @type {boolean} */ open) => () =>
    set((union()?.groups ?? []).map(({ key }) => key), open);

  /** Toggle a group relative to the last requested groups, which may not be drawn yet. */
  function toggleGroup(/** @type {SceneNode} */ { key }) {
    const drawn = union();
    if (!drawn) return;
    hold(key);
    set([key], !openGroups(drawn, state.get().open).has(key));
  }

  function toggledFor(/** @type {string} */ id) {
    const drawn = union();
    const node = drawn?.nodes.find((each) => each.id === id);
    const path = (drawn && node && pathsOf(drawn).get(node.group)) ?? [];
    // A control-flow node is the group of its bodies: the group itself may stay closed.
    const around = drawn && headersOf(drawn).has(id) ? path.slice(0, -1) : path;
    return drawn ? toggle(drawn, state.get().open, around, true) : state.get().open;
  }

  /** Show the buttons only if there are groups. */
  function show() {
    const drawn = union();
    const n = drawn?.groups.length ?? 0;
    const open = drawn ? openGroups(drawn, state.get().open).size : 0;
    part(root, "groups").hidden = n === 0;
    part(root, "open-groups").toggleAttribute("disabled", open === n);
    part(root, "close-groups").toggleAttribute("disabled", open === 0);
    part(root, "stage").dataset.groups = `${open}/${n}`;
  }

  const [openAll, closeAll] = [all(true), all(false)];
  const stop = together(
    listen(part(root, "open-groups"), { click: openAll }),
    listen(part(root, "close-groups"), { click: closeAll }),
    state.watch(["open"], show),
  );
  return {
    toggle: toggleGroup,
    toggleAt(box) {
      const group = box && box.kind !== "node" ? box : frame(box?.around.at(-1) ?? "");
      if (group) toggleGroup(group);
    },
    toggledFor,
    openAll,
    closeAll,
    show,
    stop,
  };
}
