// Kinds of fields in a URL's fragment, with their encodings. An invalid text gives the default.

/**
 * @template T
 * @typedef {object} Field
 * @property {T} start default value
 * @property {(value: T) => string[]} write returns a text for each occurrence of the name in the fragment
 * @property {(texts: string[]) => T} read parses at least one text
 * @property {string} [as] name in the fragment, if different from the key
 */

/**
 * Declare a field with a single text.
 * @template T
 * @param {T} start
 * @param {(text: string) => T | null} read returns null for an invalid text
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
 * Declare a text field, optionally with a regular expression for valid texts.
 * @param {string} [start]
 * @param {RegExp} [form]
 * @returns {Field<string>}
 */
export const text = (start = "", form) =>
  one(start, (said) => (!form || form.test(said) ? said : null));

/**
 * Declare a choice of words; the first word is the default unless another default is given.
 * @template {string} T
 * @param {readonly T[]} allowed
 * @param {NoInfer<T>} [start]
 * @returns {Field<T>}
 */
export const choice = (allowed, start = allowed[0]) =>
  one(/** @type {T} */ (start), (said) => allowed.find((each) => each === said) ?? null);

/**
 * Declare an integer field; values are clamped to the bounds.
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
 * Declare a field with a tuple of numbers.
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
 * Declare a set of texts; `fits` selects the valid texts.
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
 * Declare a mapping from names to texts, written `name=text`; names may contain "=", texts may not.
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
