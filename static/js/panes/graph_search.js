// The search field over the drawing: marks what fits, Enter goes from one to the next.
import { listen, part, partOf } from "../dom.js";
import { searchNodes } from "../graph/search.js";
import { word } from "../words.js";

/** @typedef {import("../graph/search.js").Found} Found */

/**
 * @param {HTMLElement} root of the graph
 * @param {() => import("../graph/scene.js").Scene | null} scene
 * @param {{found: (keys: string[]) => void, show: (found: Found) => void, choose: (found: Found) => void, at: () => string}} hooks
 *   `at`: id of the node in focus
 * @returns {{refresh: () => Found[], stop: () => void}}
 */
export function mountSearch(root, scene, { found, show, choose, at }) {
  const field = partOf(root, "search", HTMLInputElement);

  function refresh() {
    const asked = field.value.trim() !== "";
    const drawn = scene();
    const hits = asked && drawn ? searchNodes(drawn, field.value) : [];
    const closed = hits.filter(({ key }) => drawn?.byKey.get(key)?.node === null).length;
    part(root, "found").textContent = !asked
      ? ""
      : closed
        ? word("graph.found-closed", { n: hits.length, closed })
        : word("graph.found", { n: hits.length });
    found(hits.map(({ key }) => key));
    return hits;
  }

  const stop = listen(field, {
    input: () => {
      const [first] = refresh();
      if (first) show(first);
    },
    keydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter") {
        const hits = refresh();
        const next = hits[(hits.findIndex(({ id }) => id === at()) + 1) % hits.length];
        if (next) choose(next);
      } else if (event.key === "Escape") {
        field.value = "";
        refresh();
        part(root, "canvas").focus();
      }
    },
  });
  return { refresh, stop };
}
