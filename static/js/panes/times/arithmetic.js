// Settings of the generated code: precision, number of threads.
import { el, listen, part, partOf } from "../../elements/dom.js";
import { together } from "../../state/state.js";
import { MAX_THREADS } from "../../state/url.js";

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
    state.watch(["pipelines", "precision"], (page) => {
      const modes = page.pipelines?.precisions ?? [];
      if (precision.options.length !== modes.length)
        precision.replaceChildren(...modes.map(({ name }) => el("option", { value: name }, name)));
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
