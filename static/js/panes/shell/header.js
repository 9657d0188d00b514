// The header: the model, its headline, the running job, and the buttons of the walk.
import { el, part } from "../../elements/dom.js";
import { isUndisturbed } from "../../results/disturbance.js";
import { measureAgain } from "../../jobs/measuring.js";
import { figuresOf, sizesByInput, sizesOf } from "../../text/headline.js";
import { word } from "../../text/words.js";
import { nameOf } from "../models/start.js";

/** @typedef {import("../../state/page.js").PageState} PageState */

/**
 * @param {Document} root
 * @param {PageState} state
 * @returns {() => void}
 */
export function mountHeader(root, state) {
  return state.watch(["screen", "result", "samples", "upload", "model", "progress", "measuring"], (page) => {
    const walking = page.screen === "walk";
    const place = part(root, "place");
    part(root, "change").hidden = !walking;
    part(root, "share").hidden = !walking;
    part(root, "tour-again").hidden = !walking || !page.result;
    part(root, "halt").hidden = !walking || !page.result || page.progress.state !== "running";
    const name = page.result?.model.name ?? nameOf(page);
    root.title = walking && name ? `${name} – Compilarium` : "Compilarium";
    place.replaceChildren();
    if (!walking || !page.result) return;
    // CSS may truncate both texts, so the title has them in full.
    const uploaded = page.model.startsWith("upload:");
    const title = page.samples && !uploaded ? nameOf(page) || name : name;
    const says = figuresOf(page.result);
    place.append(el("h1", { title }, title), el("span", { title: says }, says), ...sizes(page.result));
    if (page.progress.state !== "") place.append(el("span", { class: "header-busy" }, page.progress.words));
    else if (!isUndisturbed(page.result.run?.disturbance)) place.append(measureButton(page, state));
  });
}

/**
 * Return the sizes of the inputs that the model leaves open; none if it leaves none open. A narrow header shortens
 * the sizes, never the mark of assumed sizes; the whole text appears under the pointer or with the focus.
 * @param {import("../../wire.js").Result} result
 */
function sizes(result) {
  const inputs = sizesByInput(result);
  if (inputs.length === 0) return [];
  const marked = inputs.filter(({ assumed }) => assumed).length;
  const mark = marked === inputs.length ? "header.assumed-mark" : "header.partly-assumed-mark";
  return [
    el(
      "span",
      { class: "header-sizes", tabIndex: 0 },
      el("span", { class: "header-dims" }, inputs.map((each) => each.sizes).join(", ")),
      marked ? el("span", { class: "header-mark" }, word(mark)) : null,
      el("span", { class: "header-whole", "aria-hidden": "true" }, sizesOf(result)),
    ),
  ];
}

/**
 * Return the button that measures again, shown while the time of a run is not trustworthy.
 * @param {import("../../state/page.js").Page} page
 * @param {PageState} state
 */
function measureButton({ measuring, seconds, work }, state) {
  const runs = measuring !== null && measuring.problem === null;
  return el(
    "button",
    {
      class: "link-button",
      type: "button",
      disabled: runs || !work,
      onclick: () => void measureAgain(state, { seconds: Number(seconds), machine: false }),
    },
    runs ? measuring.words : word("header.measure"),
  );
}
