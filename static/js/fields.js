// Kinds of what a URL's fragment keeps: how each is written, and what is made of a text that is none.

/**
 * @template T
 * @typedef {object} Field
 * @property {T} start where a fragment says nothing
 * @property {(value: T) => string[]} write one text for each time that its name stands in the fragment
 * @property {(texts: string[]) => T} read of one text at least
 * @property {string} [as] its name in the fragment, where that is not its own
 */

/**
 * One text.
 * @template T
 * @param {T} start
 * @param {(text: string) => T | null} read null for what cannot be understood
 * @param {(value: T) => string} [write]
 * @returns {Field<T>}
 */
export function one(start, read, write = String) {
  const said = write(start);
  return {
    start,
    write: (value) => [write(value)].filter((each) => each !== said),
    read: ([first]) => read(first) ?? start,
  };
}

/**
 * Any text, or one of a form.
 * @param {string} [start]
 * @param {RegExp} [form]
 * @returns {Field<string>}
 */
export const text = (start = "", form) =>
  one(start, (said) => (!form || form.test(said) ? said : null));

/**
 * One of several words; the first is where one starts unless another is named.
 * @template {string} T
 * @param {readonly T[]} allowed
 * @param {NoInfer<T>} [start]
 * @returns {Field<T>}
 */
export const choice = (allowed, start = allowed[0]) =>
  one(/** @type {T} */ (start), (said) => allowed.find((each) => each === said) ?? null);

/**
 * A whole number, brought between two bounds.
 * @param {number} start
 * @param {number} [least]
 * @param {number} [most]
 * @returns {Field<number>}
 */
export const whole = (start, least = -Infinity, most = Infinity) =>
  one(start, (said) =>
    /^-?\d{1,6}$/.test(said) ? Math.min(Math.max(Number(said), least), most) : null,
  );

/**
 * Numbers that belong together; `same` are those that a fragment does not say.
 * @template {number[]} T
 * @param {T} start
 * @param {(numbers: number[]) => boolean} fits
 * @returns {Field<T>}
 */
export const numbers = (start, fits) =>
  one(
    start,
    (said) => {
      const found = said.split(",").map(Number);
      return found.length === start.length && fits(found) ? /** @type {T} */ (found) : null;
    },
    (value) => value.map((each) => String(Number(each.toFixed(4)))).join(","),
  );

/**
 * Texts, each once and only those of a form.
 * @param {string} as
 * @param {(text: string) => boolean} [fits]
 * @returns {Field<string[]>}
 */
export const several = (as, fits = () => true) => ({
  as,
  start: /** @type {string[]} */ ([]),
  write: (value) => value,
  read: (texts) => [...new Set(texts.filter(fits))],
});

/**
 * Texts by name, as `name=text`; names may hold "=", texts cannot.
 * @param {string} as
 * @returns {Field<Record<string, string>>}
 */
export const named = (as) => ({
  as,
  start: {},
  write: (value) => Object.entries(value).map((pair) => pair.join("=")),
  read: (texts) =>
    Object.fromEntries(
      texts.flatMap((each) => {
        const cut = each.lastIndexOf("=");
        return cut > 0 ? [[each.slice(0, cut), each.slice(cut + 1)]] : [];
      }),
    ),
});
