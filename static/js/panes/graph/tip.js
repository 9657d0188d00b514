// The tooltip of the node or edge under the pointer.
import { el } from "../../elements/dom.js";
import { valueOf } from "../../graph/labels.js";
import { word } from "../../text/words.js";

/**
 * @param {HTMLElement} tip
 * @param {import("../../graph/scene.js").SceneNode} sceneNode
 * @param {string} because reason for a fallback; "" for none
 * @param {string} value text of the colour overlay; "" for none
 */
export function fillTip(tip, { label, sub, status, node, ids, open, hasBodies }, because, value) {
  const lines = [];
  if (node) {
    lines.push(el("span", { class: "mono" }, `${valueOf(node)}: ${node.types[0] ?? sub}`));
    if (node.origins.length)
      lines.push(
        el("br"),
        el("span", { class: "muted" }, word("tip.from", { names: shorten(node.origins) })),
      );
    if (hasBodies) {
      const key = open ? "tip.bodies-open" : "tip.bodies-closed";
      lines.push(el("br"), el("span", {}, word(key, { n: ids.length - 1 })));
    }
  } else lines.push(el("span", {}, word(open ? "tip.open-group" : "tip.group", { n: ids.length })));
  if (value) lines.push(el("br"), el("span", {}, value));
  if (because)
    lines.push(
      el("br"),
      el("span", { class: "tip-fallback" }, word("tip.fallback", { because })),
    );
  if (status !== "same")
    lines.push(
      el("br"),
      el("span", { class: "badge", "data-kind": status }, word(`mark.${status}`)),
    );
  tip.replaceChildren(el("strong", {}, label), ...lines);
}

/**
 * Fill the tooltip of an edge.
 * @param {HTMLElement} tip
 * @param {string} from
 * @param {string} to
 */
export function fillEdgeTip(tip, from, to) {
  tip.replaceChildren(el("strong", {}, `${from} → ${to}`), el("span", {}, word("tip.edge")));
}

/** @param {string[]} names */
function shorten(names) {
  return names.length > 4
    ? `${names.slice(0, 3).join(", ")}, … ${word("n-more", { n: names.length - 3 })}`
    : names.join(", ");
}
