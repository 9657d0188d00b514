// The state of the page: a plain object, and the watchers of its keys.
//
// Keys listed in url.js are also in the URL's fragment. Panes read the state, set it, and watch it;
// panes do not depend on each other.

/**
 * @template S
 * @typedef {object} State
 * @property {() => S} get
 * @property {(patch: Partial<S>) => void} set
 * @property {(keys: (keyof S)[], fn: (state: S) => void) => (() => void)} watch
 */

/**
 * Create a state whose watchers run at once and whenever one of their keys changes. A `set` inside a
 * watcher waits until all watchers have seen the previous change.
 * @template {object} S
 * @param {S} initial
 * @returns {State<S>}
 */
export function createState(initial) {
  let current = { ...initial };
  /** @type {Set<{keys: (keyof S)[], fn: (state: S) => void}>} */
  const watchers = new Set();
  /** @type {Partial<S>[]} */
  const pending = [];
  let busy = false;

  /** @param {Partial<S>} patch */
  function apply(patch) {
    const changed = /** @type {(keyof S)[]} */ (Object.keys(patch)).filter(
      (key) => !same(current[key], patch[key]),
    );
    if (changed.length === 0) return;
    current = { ...current, ...patch };
    for (const watcher of [...watchers]) {
      if (watchers.has(watcher) && watcher.keys.some((key) => changed.includes(key)))
        watcher.fn(current);
    }
  }

  return {
    get: () => current,
    set(patch) {
      pending.push(patch);
      if (busy) return;
      busy = true;
      try {
        for (let next = pending.shift(); next; next = pending.shift()) apply(next);
      } finally {
        busy = false;
        pending.length = 0;
      }
    },
    watch(keys, fn) {
      const watcher = { keys, fn };
      watchers.add(watcher);
      fn(current);
      return () => watchers.delete(watcher);
    },
  };
}

/**
 * Compare two values, arrays item by item: a new selection is often equal to the previous selection.
 * @param {unknown} a
 * @param {unknown} b
 */
function same(a, b) {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((v, i) => Object.is(v, b[i]));
  return Object.is(a, b);
}

/**
 * Return a function that calls every release function once.
 * @param {...(() => void)} stops
 * @returns {() => void}
 */
export function together(...stops) {
  return () => stops.forEach((stop) => stop());
}
