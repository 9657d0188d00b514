// An edited schedule: completions in its text, and the verdict of a run.

/**
 * @typedef {Pick<import("../wire.js").CheckedSchedule, "stages" | "nests">} CheckedSchedule
 * @typedef {import("../wire.js").Moves} Moves
 * @typedef {{label: string, insert: string, detail: string}} Completion
 */

const MOST = 12;

/**
 * Parse "3:Y: split(n, 16)" into kernel and text; the kernel is -1 for an empty text.
 * @param {string} edited
 */
export function splitEdited(edited) {
  const [, kernel = "-1", text = ""] = /^(\d+):([^]*)$/.exec(edited) ?? [];
  return { kernel: Number(kernel), text };
}

/**
 * Return completions at the caret: nests, then moves, then values of each argument.
 * @param {string} text
 * @param {number} at the caret
 * @param {Moves | null} moves
 * @param {CheckedSchedule} checked
 * @returns {{from: number, found: Completion[]}}
 */
export function scheduleCompletions(text, at, moves, checked) {
  const rows = text.slice(0, at).split("\n");
  const row = rows[rows.length - 1];
  const typed = /[\w.'#]*$/.exec(row)?.[0] ?? "";
  const from = at - typed.length;
  const named = (/** @type {string[]} */ names, detail = "", behind = "") =>
    [...new Set(names)].map((label) => ({ label, insert: label + behind, detail }));

  /** @returns {Completion[]} */
  function candidates() {
    if (/^\s*[\w.'#]*$/.test(row))
      return named([...checked.nests.map(({ nest }) => nest), ...checked.stages], "", ": ");
    if (/^\s*[\w.'#]+\s*:\s*\w*$/.test(row))
      return (moves?.moves ?? []).map(({ name, signature, words }) => ({
        label: name,
        insert: `${name}(`,
        detail: `${signature}  ${words}`,
      }));
    const [, nest = "", name = "", given = ""] =
      /^\s*([\w.'#]+)\s*:\s*(\w+)\(([^)]*)$/.exec(row) ?? [];
    const move = moves?.moves.find((each) => each.name === name);
    const before = given.split(",").map((each) => each.trim());
    const parameter = move?.parameters[Math.min(before.length, move.parameters.length) - 1];
    if (!move || !parameter) return [];
    const around = move.level === "stages" ? before[0] : nest;
    const known = checked.nests.filter((each) => each.nest === around && each.line < rows.length);
    const now = known[known.length - 1];
    const by = {
      loop: now?.loops.filter((loop) => !before.slice(0, -1).includes(loop)),
      tensor: now?.tensors,
      stage: checked.stages,
      step: moves?.steps,
    }[parameter.kind];
    return named(by ?? [], parameter.words);
  }

  const found = candidates().filter(({ label }) => label.startsWith(typed) && label !== typed);
  return { from, found: found.slice(0, MOST) };
}

/**
 * Return the verdict on a ratio of times: faster, slower, or within the noise between runs.
 * @param {{low: number, high: number, noise: number}} times
 * @returns {"faster" | "slower" | "same"}
 */
export function verdictOf({ low, high, noise }) {
  if (high < 1 - noise) return "faster";
  return low > 1 + noise ? "slower" : "same";
}
