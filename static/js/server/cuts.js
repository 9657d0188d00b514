// Splits a large value into small pieces and joins them again, so that another thread can receive each
// piece in a short task.

/**
 * @typedef {(string | number)[]} Path keys from the root downwards
 * @typedef {{path: Path, items: unknown[]}} Cut items to append to the list at a path
 */

/**
 * Move the items of long lists out of a value, which then has empty lists. Cuts for nested lists follow
 * the cuts with the items that contain them. A value without lists is not split.
 * @param {unknown} whole modified in place
 * @param {number} most maximum number of leaves per cut, except for a single item
 * @returns {Cut[]}
 */
export function cutLists(whole, most) {
  return listsIn(whole, [], most);
}

/**
 * @param {unknown} value
 * @param {Path} path
 * @param {number} most
 * @returns {Cut[]}
 */
function listsIn(value, path, most) {
  if (value === null || typeof value !== "object" || leaves(value) <= most) return [];
  if (!Array.isArray(value))
    return Object.entries(value).flatMap(([key, each]) => listsIn(each, [...path, key], most));
  const items = value.splice(0);
  const inside = items.flatMap((each, i) => listsIn(each, [...path, i], most));
  return [...batches(items, most).map((batch) => ({ path, items: batch })), ...inside];
}

/**
 * @param {unknown[]} items
 * @param {number} most
 * @returns {unknown[][]}
 */
function batches(items, most) {
  /** @type {unknown[][]} */
  const made = [];
  let room = 0;
  for (const item of items) {
    const n = leaves(item);
    if (n > room || made.length === 0) {
      made.push([]);
      room = most;
    }
    made[made.length - 1].push(item);
    room -= n;
  }
  return made;
}

/**
 * Return the number of leaves of a value, such as strings and numbers, plus the number of its lists and objects.
 * @param {unknown} value
 * @returns {number}
 */
function leaves(value) {
  if (value === null || typeof value !== "object") return 1;
  let n = 1;
  for (const each of Array.isArray(value) ? value : Object.values(value)) n += leaves(each);
  return n;
}

/**
 * Append the items of a cut to their list; cuts must be applied in order.
 * @param {any} whole modified in place
 * @param {Cut} cut
 */
export function putBack(whole, { path, items }) {
  /** @type {unknown[]} */
  const list = path.reduce((at, key) => at[key], whole);
  for (const item of items) list.push(item);
}
