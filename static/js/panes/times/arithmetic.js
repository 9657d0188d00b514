// Settings of the generated code: precision, number of threads.
import { el, listen, part, partOf } from "../../elements/dom.js";
import { together } from "../../state/state.js";
import { MAX_THREADS } from "../../state/url.js";
import { word } from "../../text/words.js";

/** @typedef {import("../../wire.js").PrecisionInfo} PrecisionInfo */

/**
 * Return the precision modes that suit the chosen model; null while this is unknown. A model in the editor may
 * contain any operator.
 * @param {import("../../state/page.js").Page} page
 */
function suitingPrecisions({ model, samples, inspected, pipelines }) {
  if (model === "written") return (pipelines?.precisions ?? []).map(({ name }) => name);
  const sample = samples?.find(({ id }) => model === `sample:${id}`);
  return sample?.precisions ?? inspected?.model.precisions ?? null;
}

/**
 * @param {HTMLElement} root the start screen
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountArithmetic(root, state) {
  const precision = partOf(root, "precision", HTMLSelectElement);
  const threads = partOf(root, "threads", HTMLInputElement);
  threads.max = String(MAX_THREADS);

  const onThreads = () => {
    const wanted = Number(threads.value);
    const fits = Number.isInteger(wanted) && wanted >= 1 && wanted <= MAX_THREADS;
    threads.setAttribute("aria-invalid", String(!fits));
    if (fits) state.set({ threads: wanted });
  };

  return together(
    listen(precision, { change: () => state.set({ precision: precision.value }) }),
    listen(threads, { change: onThreads }),
    state.watch(["pipelines", "precision", "model", "samples", "inspected"], (page) => {
      const modes = page.pipelines?.precisions ?? [];
      const suiting = suitingPrecisions(page);
      const suits = (/** @type {PrecisionInfo} */ mode) => !mode.needs || suiting?.includes(mode.name);
      precision.replaceChildren(
        ...modes.map((mode) => {
          const { name, needs } = mode;
          if (suits(mode)) return el("option", { value: name }, name);
          return el("option", { value: name, disabled: true }, word("precision.unsuitable", { name, needs }));
        }),
      );
      precision.value = page.precision;
      const found = modes.find(({ name }) => name === page.precision);
      part(root, "precision-words").textContent = found?.words ?? "";
    }),
    state.watch(["threads"], (page) => {
      threads.value = String(page.threads);
      threads.setAttribute("aria-invalid", "false");
    }),
  );
}
