// The fields with sizes for the open dimensions of a model.
import { parseDims } from "../../jobs/compile.js";
import { el, listen, part } from "../../elements/dom.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";

/**
 * Return inputs with open dimensions, with their default sizes.
 * @param {import("../../state/page.js").Page} page
 * @returns {{name: string, type: string, dims: (number | string)[]}[]}
 */
export function openInputs({ model, samples, inspected }) {
  if (model.startsWith("sample:")) {
    const sample = samples?.find((each) => each.id === model.slice("sample:".length));
    return Object.entries(sample?.shapes ?? {}).map(([name, dims]) => ({ name, type: "", dims }));
  }
  return (inspected?.inputs ?? [])
    .filter(({ name }) => inspected?.shapes[name]?.assumed)
    .map(({ name, type }) => ({ name, type, dims: inspected?.shapes[name].dims ?? [] }));
}

/**
 * @param {HTMLElement} root the start screen
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountShapes(root, state) {
  const section = part(root, "shapes");
  const fields = part(root, "shape-fields");

  const onInput = (/** @type {Event} */ event) => {
    const input = event.target;
    if (!(input instanceof HTMLInputElement)) return;
    const name = input.dataset.input ?? "";
    const example = input.placeholder;
    const dims = parseDims(input.value);
    const n = parseDims(example)?.length ?? 0;
    const isOther = dims !== null && dims.length > 0 && n > 0 && dims.length !== n;
    const wrong = dims === null ? word("shapes.not-sizes") : isOther ? word("shapes.count", { n, example }) : "";
    input.setCustomValidity(wrong);
    input.setAttribute("aria-invalid", String(wrong !== ""));
    if (input.nextElementSibling) input.nextElementSibling.textContent = wrong;
    if (wrong || dims === null) return;
    const shapes = { ...state.get().shapes };
    if (dims.length) shapes[name] = dims.join(",");
    else delete shapes[name];
    state.set({ shapes });
  };

  return together(
    listen(fields, { change: onInput }),
    state.watch(["model", "samples", "inspected"], (page) => {
      const open = openInputs(page);
      section.hidden = open.length === 0;
      fields.replaceChildren(
        ...open.map(({ name, type, dims }) => {
          const input = el("input", {
            class: "field mono",
            value: page.shapes[name] ?? "",
            placeholder: dims.join(","),
            autocomplete: "off",
            title: type,
          });
          input.dataset.input = name;
          return el(
            "label",
            { class: "shape-field" },
            el("span", { class: "mono wrap" }, name, type ? el("span", { class: "muted" }, `: ${type}`) : null),
            input,
            el("span", { class: "pipeline-text-problem", role: "alert" }),
          );
        }),
      );
    }),
  );
}
