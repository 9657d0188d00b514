// The difference of two short texts, line by line: the longest common subsequence.

/** @typedef {{kind: "" | "added" | "removed", text: string}} DiffLine */

/**
 * Return all lines of both texts; removed lines precede added lines.
 * @param {string} before
 * @param {string} after
 * @returns {DiffLine[]}
 */
export function lineDiff(before, after) {
  const [a, b] = [before, after].map((text) => (text === "" ? [] : text.replace(/\n$/, "").split("\n")));
  /** common[i][j]: length of the longest common subsequence of a from i and b from j */
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i][j] =
        a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  /** @type {DiffLine[]} */
  const rows = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      rows.push({ kind: "", text: a[i] });
      i += 1;
      j += 1;
    } else if (j === b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1]))
      rows.push({ kind: "removed", text: a[i++] });
    else rows.push({ kind: "added", text: b[j++] });
  }
  return rows;
}
