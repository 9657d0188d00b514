// The search field over the drawing: marks what fits, Enter goes from one to the next.
import { listen, part, partOf } from "../dom.js";
import { searchNodes } from "../graph/search.js";
import { word } from "../words.js";

/**
 * @param {HTMLElement} root of the graph
 * @param {() => import("../graph/scene.js").Scene | null} scene
 * @param {{found: (keys: string[]) => void, show: (key: string) => void, choose: (key: string, query: string) => void, focus: () => string}} hooks
 * @returns {{refresh: () => string[], stop: () => void}}
 */
export function mountSearch(root, scene, { found, show, choose, focus }) {
  const field = partOf(root, "search", HTMLInputElement);

  function refresh() {
    const asked = field.value.trim() !== "";
    const drawn = scene();
    const keys = asked && drawn ? searchNodes(drawn, field.value) : [];
    part(root, "found").textContent = asked ? word("graph.found", { n: keys.length }) : "";
    found(keys);
    return keys;
  }

  const stop = listen(field, {
    input: () => {
      const [first] = refresh();
      if (first) show(first);
    },
    keydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter") {
        const keys = refresh();
        const next = keys[(keys.indexOf(focus()) + 1) % keys.length];
        if (next) choose(next, field.value);
      } else if (event.key === "Escape") {
        field.value = "";
        refresh();
        part(root, "canvas").focus();
      }
    },
  });
  return { refresh, stop };
}
