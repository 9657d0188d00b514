// The legend of the drawing: the colours and marks that occur.
import { el } from "../../elements/dom.js";
import { MARKERS, MARKS } from "../../graph/pen.js";
import { countMarked } from "../../graph/scene.js";
import { FAMILIES } from "../../elements/families.js";
import { colors } from "../../elements/theme.js";
import { word } from "../../text/words.js";

/**
 * @param {HTMLElement} list
 * @param {import("../../graph/scene.js").Scene} scene
 * @param {Set<string>} fallbacks keys of fallback nodes
 * @param {import("../../graph/overlays.js").Overlay | null} overlay the colour overlay
 */
export function showLegend(list, scene, fallbacks, overlay) {
  const shown = scene.nodes.filter((node) => node.shown);
  const drawn = [...shown, ...scene.frames.filter((frame) => frame.shown)];
  const hatched = shown.filter((node) => fallbacks.has(node.key));
  const families = FAMILIES.filter((family) =>
    drawn.some(
      (node) =>
        node.family === family && node.node?.kind === "node" && !fallbacks.has(node.key),
    ),
  );
  const marks = MARKS.filter((mark) => countMarked(scene, mark) > 0);
  list.replaceChildren(
    ...marks.map((mark) => {
      const marker = el("span", { class: "legend-mark", "aria-hidden": "true" }, MARKERS[mark]);
      marker.style.setProperty("--mark", `var(--${mark})`);
      const n = countMarked(scene, mark);
      return el("li", { "data-mark": mark }, marker, word(`legend.${mark}`, { n }));
    }),
    ...(hatched.length ? [fallbackEntry(hatched.length)] : []),
    ...(overlay ? classEntries(overlay, shown) : []),
    ...(overlay ? [] : families).map((family) => {
      const swatch = el("span", { class: "legend-family", "aria-hidden": "true" });
      swatch.style.setProperty("--family", `var(--family-${family})`);
      return el("li", {}, swatch, word(`family.${family}`));
    }),
  );
}

/** @param {number} n */
function fallbackEntry(n) {
  const swatch = el("span", { class: "fallback-swatch", "aria-hidden": "true" });
  return el("li", { "data-fallback": "" }, swatch, word("legend.fallback", { n }));
}

/**
 * @param {import("../../graph/overlays.js").Overlay} overlay
 * @param {import("../../graph/scene.js").SceneNode[]} shown
 */
function classEntries({ scale, classes, classOf }, shown) {
  const entries = classes.map(({ label, n }, i) => {
    const swatch = el("span", { class: "legend-class", "aria-hidden": "true" });
    swatch.style.setProperty("--fill", colors()[scale][i].fill);
    return n ? el("li", { "data-class": String(i) }, swatch, `${label} (${n})`) : null;
  });
  const n = shown.filter((node) => node.node?.kind === "node" && !classOf.has(node.key)).length;
  const swatch = el("span", { class: "legend-class", "aria-hidden": "true" });
  swatch.style.setProperty("--fill", "var(--surface)");
  if (n) entries.push(el("li", {}, swatch, word("overlay.none", { n })));
  return entries.filter((each) => each !== null);
}
