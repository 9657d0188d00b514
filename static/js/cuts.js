// A large value cut into small ones that can be put together again: what goes to another thread is
// read there piece by piece, and no piece takes long.

/**
 * @typedef {(string | number)[]} Path keys from the whole down
 * @typedef {{path: Path, items: unknown[]}} Cut items that go to the end of the list at a place
 */

/**
 * Cuts the long lists out of a value, and leaves them empty in it. What is in the items of a list
 * comes after them. A value without lists stays as large as it is.
 * @param {unknown} whole is changed
 * @param {number} most so many leaves at most in a cut, but for one of a single item
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
 * How many strings, numbers and so on a value has, and how many lists and objects around them.
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
 * Puts back what was cut out, one cut after the other in their order.
 * @param {any} whole is changed
 * @param {Cut} cut
 */
export function putBack(whole, { path, items }) {
  /** @type {unknown[]} */
  const list = path.reduce((at, key) => at[key], whole);
  for (const item of items) list.push(item);
}
