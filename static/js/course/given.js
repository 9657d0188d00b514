// What an exercise gives: its graphs, computations and lists, each with the goals for it.
import { el } from "../elements/dom.js";
import { code } from "./labs.js";

/**
 * Return the texts that an exercise gives, each in a fold; the first fold is open, and so are short lists.
 * @param {import("./judge.js").Exercise} exercise
 * @returns {HTMLElement[]}
 */
export function givenTexts({ given = [] }) {
  return given.map(({ title, text, language, goals }, i) =>
    el(
      "details",
      { class: "lab-details", open: i === 0 || language !== "written" },
      el("summary", {}, title, goals.length > 0 && el("span", { class: "exercise-goals" }, goals.join(", "))),
      code(text, language),
    ),
  );
}
