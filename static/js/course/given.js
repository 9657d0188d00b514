// What an exercise gives: its graphs as text, with the goals for each.
import { el } from "../elements/dom.js";
import { word } from "../text/words.js";
import { code } from "./labs.js";

/** @typedef {{name?: string, text?: string, goals?: Record<string, number>, same?: boolean}} Given */

/**
 * Return the graphs of an exercise, each in a fold with its goals.
 * @param {import("./judge.js").Exercise} exercise
 * @returns {HTMLElement[]}
 */
export function givenGraphs(exercise) {
  const settings = exercise.settings;
  const graphs = Array.isArray(settings?.graph) ? /** @type {Given[]} */ (settings.graph) : [];
  return graphs
    .filter(({ text }) => typeof text === "string")
    .map(({ name, text = "", goals = {}, same }, i) => {
      const wanted = Object.entries(goals).map(([quantity, value]) => `${quantity.replace(/_/g, " ")} ≤ ${value}`);
      if (same) wanted.push(word("exercise.same"));
      return el(
        "details",
        { class: "lab-details", open: i === 0 },
        el(
          "summary",
          {},
          name ?? word("exercise.graph", { n: i + 1 }),
          wanted.length > 0 && el("span", { class: "exercise-goals" }, wanted.join(", ")),
        ),
        code(text.trim()),
      );
    });
}
