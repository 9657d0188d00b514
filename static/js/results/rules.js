// The declaration of a step: the rule, or the kind of step, that its pass applied.

/**
 * @typedef {import("../wire.js").Pipelines} Pipelines
 * @typedef {import("../wire.js").RuleInfo | import("../wire.js").StepKind} Declared
 */

/**
 * Return the declaration of the steps with this name in a pass; undefined for an unknown name.
 * @param {Pick<Pipelines, "passes" | "rules" | "shared_steps"> | null} pipelines
 * @param {string} pass
 * @param {string} name
 * @returns {Declared | undefined}
 */
export function declaredStep(pipelines, pass, name) {
  if (!pipelines) return undefined;
  const { passes, rules, shared_steps: shared } = pipelines;
  // Two passes may use one name for different kinds of steps.
  const own = passes.find((each) => each.name === pass)?.steps ?? [];
  return [own, rules, shared].flatMap((list) => list.find((each) => each.name === name) ?? [])[0];
}

/**
 * Return an example as text; the two graphs of an analysis are equal.
 * @param {import("../wire.js").RuleExample} example
 */
export const exampleText = ({ before, after }) =>
  before.trim() === after.trim() ? before.trim() : `${before.trim()}\n⇒\n${after.trim()}`;

/**
 * Return the applied steps, then the declined steps. The index of a step, as in links, stays the same.
 * @param {import("../wire.js").Step[]} steps
 */
export function appliedFirst(steps) {
  const isApplied = (/** @type {import("../wire.js").Step} */ { outcome }) => outcome === "applied";
  return [...steps.filter(isApplied), ...steps.filter((step) => !isApplied(step))];
}
