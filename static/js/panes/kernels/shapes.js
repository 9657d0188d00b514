// The fields with sizes for the open dimensions of a model.
import { el, listen, part } from "../../elements/dom.js";
import { together } from "../../state/state.js";
import { openInputs, sizesProblem } from "../../text/sizes.js";
import { word } from "../../text/words.js";

/**
 * @param {HTMLElement} root the start screen
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountShapes(root, state) {
  const section = part(root, "shapes");
  const fields = part(root, "shape-fields");

  /** Store the typed text, even if it is wrong: Compile refuses it, and a link restores it. */
  function keep(/** @type {HTMLInputElement} */ input) {
    const shapes = { ...state.get().shapes };
    const name = input.dataset.input ?? "";
    if (input.value.trim()) shapes[name] = input.value.trim();
    else delete shapes[name];
    const isMended = state.get().problem?.code === "E-INPUT-SHAPE";
    state.set({ shapes, ...(isMended ? { problem: null } : {}) });
  }

  /** Show why the text is wrong, if it is. */
  function judge(/** @type {HTMLInputElement} */ input) {
    const known = openInputs(state.get()).find(({ name }) => name === input.dataset.input);
    const problem = known ? sizesProblem(input.value, known) : null;
    const words = problem ? word(problem.key, problem.values) : "";
    input.setCustomValidity(words);
    input.setAttribute("aria-invalid", String(problem !== null));
    const says = input.parentElement?.querySelector("[role=alert]");
    if (says && says.textContent !== words) says.textContent = words;
  }

  const onField = (/** @type {Event} */ event) => {
    const input = event.target;
    if (!(input instanceof HTMLInputElement)) return;
    keep(input);
    // While the user types, a message may only disappear.
    if (event.type === "change" || input.getAttribute("aria-invalid") === "true") judge(input);
  };

  return together(
    listen(fields, { input: onField, change: onField }),
    state.watch(["model", "samples", "inspected"], (page) => {
      const open = openInputs(page);
      section.hidden = open.length === 0;
      fields.replaceChildren(
        ...open.map(({ name, type, dims }, i) => {
          const says = el("span", { class: "pipeline-text-problem", role: "alert", id: `shape-says-${i}` });
          const input = el("input", {
            class: "field mono",
            value: page.shapes[name] ?? "",
            placeholder: dims.join(","),
            autocomplete: "off",
            title: type,
            "aria-describedby": says.id,
          });
          input.dataset.input = name;
          return el(
            "label",
            { class: "shape-field" },
            el("span", { class: "mono wrap" }, name, type ? el("span", { class: "muted" }, `: ${type}`) : null),
            input,
            says,
          );
        }),
      );
      for (const input of fields.querySelectorAll("input")) judge(input);
    }),
    // Compile refuses wrong sizes, also through the keyboard: show them and go to the field.
    state.watch(["problem"], ({ problem }) => {
      if (problem?.code !== "E-INPUT-SHAPE") return;
      const inputs = [...fields.querySelectorAll("input")];
      for (const input of inputs) judge(input);
      inputs.find((each) => each.getAttribute("aria-invalid") === "true")?.focus();
    }),
  );
}
