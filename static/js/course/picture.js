// Draws small graphs as SVG: Graphviz in a worker places the boxes, one drawing after another.
import { createLayouter } from "../graph/layout.js";
import { asFamily } from "../elements/families.js";
import { word } from "../text/words.js";
import { svg } from "./svg.js";

/** @typedef {import("../wire.js").GraphDrawing} GraphDrawing */

const MARGIN = 6;
const CORNER = 5;

/** @type {import("../graph/layout.js").Layouter | null} */
let layouter = null;
/** The end of the last drawing: the worker cancels a layout that another request overtakes. @type {Promise<unknown>} */
let last = Promise.resolve();

/** @param {string} dot */
function placed(dot) {
  const turn = last.then(() => {
    layouter ??= createLayouter(new URL(document.body.dataset.worker ?? "worker.js", document.baseURI).href);
    return layouter.layout(/** @type {any} */ ({ dot, groups: [] }), new Set());
  });
  last = turn.catch(() => {});
  return turn;
}

/**
 * Draw a graph. Nodes whose values are in `marked` are emphasised.
 * @param {GraphDrawing} drawing with nodes
 * @param {Set<string>} [marked]
 * @returns {Promise<SVGSVGElement>}
 */
export async function pictureOf(drawing, marked = new Set()) {
  const { picture, boxes } = await graphScene(drawing);
  for (const { key, id } of drawing.nodes) boxes.get(key)?.toggleAttribute("data-marked", marked.has(id));
  return picture;
}

/**
 * Draw a graph, and return its boxes by key, and the parts of its edges by the keys of both ends: `n0 n1`.
 * @param {GraphDrawing} drawing with nodes
 * @returns {Promise<{picture: SVGSVGElement, boxes: Map<string, SVGGElement>, edges: Map<string, SVGPathElement[]>}>}
 */
export async function graphScene(drawing) {
  const layout = (await placed(drawing.dot)).layouts.get("");
  if (!layout) throw new Error("the drawing has no layout");
  const nodes = new Map(drawing.nodes.map((each) => [each.key, each]));
  const words = drawing.nodes.filter(({ family }) => family !== "input" && family !== "result").map(({ label }) => label);
  const [width, height] = [layout.width + 2 * MARGIN, layout.height + 2 * MARGIN];
  const picture = svg("svg", {
    class: "picture",
    role: "img",
    "aria-label": word("lab.drawing", { n: words.length, nodes: words.join(", ") }),
    viewBox: `${-MARGIN} ${-MARGIN} ${width} ${height}`,
    width,
    height,
  });
  /** @type {Map<string, SVGPathElement[]>} */
  const edges = new Map();
  for (const { from, to, path, tip } of layout.edges) {
    const [x, y, ...rest] = path;
    const end = tip ? ` L${tip[0]} ${tip[1]}` : "";
    const parts = [svg("path", { class: "picture-edge", d: `M${x} ${y} C${rest.join(" ")}${end}` })];
    if (tip) parts.push(svg("path", { class: "picture-tip", d: tipPath(path, tip) }));
    edges.set(`${from} ${to}`, parts);
    picture.append(...parts);
  }
  /** @type {Map<string, SVGGElement>} */
  const boxes = new Map();
  for (const { key, x, y, w, h } of layout.nodes) {
    const node = nodes.get(key);
    if (!node) continue;
    const box = svg(
      "g",
      { class: "picture-node", "data-family": asFamily(node.family) },
      svg("rect", { x: x - w / 2, y: y - h / 2, width: w, height: h, rx: CORNER }),
      svg("text", { x, y: y - 4, class: "picture-label" }, node.label),
      svg("text", { x, y: y + 12, class: "picture-detail" }, node.detail),
    );
    boxes.set(key, box);
    picture.append(box);
  }
  return { picture, boxes, edges };
}

/**
 * Return the triangle of an arrow's tip.
 * @param {number[]} path
 * @param {[number, number]} tip
 */
function tipPath(path, [x, y]) {
  const [fx, fy] = path.slice(-2);
  const angle = Math.atan2(y - fy, x - fx);
  const corner = (/** @type {number} */ turn) =>
    `${x - 7 * Math.cos(angle + turn)} ${y - 7 * Math.sin(angle + turn)}`;
  return `M${x} ${y} L${corner(0.42)} L${corner(-0.42)} Z`;
}
