// Exports the whole drawing as SVG or DOT, in the colours of the theme.
import { HEADER } from "./nesting.js";
import { MARKERS } from "./pen.js";

/**
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./scene.js").SceneNode} SceneNode
 * @typedef {import("../elements/theme.js").Colors} Colors
 * @typedef {import("./draw.js").Paint} Paint
 */

const MARGIN = 20;
const CHARACTER_WIDTH = 6.6;
const CENTERED = 'text-anchor="middle" dominant-baseline="central"';

/**
 * @param {Scene} scene
 * @param {Colors} colors
 * @param {(node: SceneNode) => Paint} paintOf
 * @returns {string}
 */
export function toSvg(scene, colors, paintOf) {
  const [width, height] = [scene.width + 2 * MARGIN, scene.height + 2 * MARGIN].map(Math.ceil);
  const edges = scene.edges.filter((edge) => edge.shown && edge.path.length >= 8);
  const nodes = scene.nodes.filter((node) => node.shown);
  const frames = scene.frames.filter((frame) => frame.shown);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"`,
    ` viewBox="${-MARGIN} ${-MARGIN} ${width} ${height}" font-family=${attribute(colors.sans)}>`,
    `<rect x="${-MARGIN}" y="${-MARGIN}" width="100%" height="100%" fill="${colors.paper}"/>`,
    `<marker id="tip" viewBox="0 0 7 6" refX="7" refY="3" markerWidth="7" markerHeight="6"`,
    ` markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 7 3 0 6z" fill="context-stroke"/>`,
    `</marker>`,
    ...frames.map((frame) => svgFrame(frame, colors)),
    ...edges.map((edge) => svgEdge(edge, colors)),
    ...nodes.map((node) => svgNode(node, colors, paintOf(node))),
    `</svg>\n`,
  ].join("\n");
}

/**
 * @param {SceneNode} frame
 * @param {Colors} colors
 */
function svgFrame({ id, x, y, w, h, label, sub, node }, colors) {
  const [left, top] = [x - w / 2, y - h / 2];
  const text = [label, node ? sub : ""].filter(Boolean).join("  ");
  return [
    `<g><title>${escape(id || label)}</title>`,
    `<rect x="${left.toFixed(1)}" y="${top.toFixed(1)}" width="${w.toFixed(1)}" height="${h.toFixed(1)}" rx="10"`,
    ` fill="none" stroke="${colors.lineStrong}"/>`,
    `<text x="${(left + 10).toFixed(1)}" y="${(top + HEADER / 2).toFixed(1)}" font-size="12" font-weight="600"`,
    ` fill="${colors.ink}" dominant-baseline="central">${escape(shorten(text, w))}</text></g>`,
  ].join("");
}

/**
 * @param {import("./scene.js").SceneEdge} edge
 * @param {Colors} colors
 */
function svgEdge({ path, ends, status }, colors) {
  const points = path.map((each) => each.toFixed(1));
  const curve = points.slice(2).join(" ");
  const tip = ends ? ' marker-end="url(#tip)"' : "";
  const isNews = status === "added" || status === "removed";
  const color = isNews ? colors.status[status] : colors.lineStrong;
  const dash = status === "removed" ? ' stroke-dasharray="5 4"' : "";
  const d = `M${points[0]} ${points[1]} C${curve}`;
  return `<path d="${d}" fill="none" stroke="${color}"${dash}${tip}/>`;
}

/**
 * @param {SceneNode} node
 * @param {Colors} colors
 * @param {Paint} paint
 */
function svgNode(node, colors, paint) {
  const { x, y, w, h, round, label, sub, status } = node;
  const isMarked = status !== "same";
  const stroke = isMarked ? colors.status[status] : paint.stroke;
  const fill = status === "removed" ? colors.paper : paint.fill;
  const dash = status === "removed" ? ' stroke-dasharray="6 4"' : "";
  const marker = isMarked ? `${MARKERS[status]} ` : "";
  const [left, top, wide, high] = [x - w / 2, y - h / 2, w, h].map((each) => each.toFixed(1));
  const two = sub !== "";
  return [
    `<g><title>${escape([node.id, ...(node.node?.types ?? [])].join(" "))}</title>`,
    `<rect x="${left}" y="${top}" width="${wide}" height="${high}" rx="${round}" fill="${fill}"`,
    ` stroke="${stroke}" stroke-width="${isMarked ? 2.4 : 1.2}"${dash}/>`,
    `<text x="${x.toFixed(1)}" y="${(y - (two ? h * 0.17 : 0)).toFixed(1)}" font-size="13"`,
    ` font-weight="600" fill="${colors.ink}" ${CENTERED}>${escape(shorten(marker + label, w))}</text>`,
    two ? `<text x="${x.toFixed(1)}" y="${(y + h * 0.24).toFixed(1)}" font-size="10.5"` : "",
    two ? ` fill="${colors.muted}" ${CENTERED}>${escape(shorten(sub, w))}</text>` : "",
    `</g>`,
  ].join("");
}

/** @param {string} text @param {number} width */
function shorten(text, width) {
  const most = Math.max(3, Math.floor((width - 12) / CHARACTER_WIDTH));
  if (text.length <= most) return text;
  const head = Math.ceil(most / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (most - head) + 1)}`;
}

/** Characters that XML forbids and that names in a model may contain. */
const UNPRINTABLE = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/gu;

/** @param {string} text */
function escape(text) {
  return text
    .replace(UNPRINTABLE, "\ufffd")
    .replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c] ?? c);
}

/** @param {string} text */
function attribute(text) {
  return `"${escape(text).replace(/"/g, "'")}"`;
}

/**
 * Return the visible graph as DOT text: names, operators and types; Graphviz computes the positions.
 * @param {Scene} scene
 * @returns {string}
 */
export function toDot(scene) {
  const nodes = [...scene.frames, ...scene.nodes].filter((node) => node.shown);
  const edges = scene.edges.filter((edge) => edge.shown);
  return [
    "digraph {",
    "  node [shape=box];",
    ...nodes.map(({ key, label, sub, id }) => {
      const lines = quoted(`${label}\n${sub}`);
      return `  ${key} [label=${lines}, tooltip=${quoted(id)}];`;
    }),
    ...edges.map(({ from, to }) => `  ${from} -> ${to};`),
    "}\n",
  ].join("\n");
}

/** Escape a label; Graphviz reads HTML entities even in plain labels. @param {string} text */
function quoted(text) {
  const plain = text.trim().replace(UNPRINTABLE, "\ufffd").replaceAll("&", "&amp;");
  return `"${plain.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n")}"`;
}
