// Draws the matrices of a kernel, and the elements that each iteration of its loops reads and writes.
import { word } from "../../text/words.js";
import { svg } from "../svg.js";

/**
 * @typedef {import("../../wire.js").LessonMotion} LessonMotion
 * @typedef {import("../../wire.js").LessonMatrix} LessonMatrix
 * @typedef {import("../../wire.js").WalkFrame} WalkFrame
 * @typedef {{x: number, y: number}} Place the upper left corner of a matrix
 */

const [WIDTH, HEIGHT, GAP, TITLE] = [440, 380, 22, 18];
const [SMALLEST, LARGEST] = [3, 22];
const CHARACTER = 7;

/** @param {LessonMotion} motion @returns {import("./player.js").Moving} */
export function walkPicture({ matrices, walk: frames }) {
  const { cell, places, width, height } = arrangement(matrices);
  const name = word("moving.walk-name", { matrices: matrices.map(titleOf).join(", "), n: frames.length });
  const picture = svg("svg", { class: "picture walk-picture", role: "img", "aria-label": name, viewBox: `0 0 ${width} ${height}`, width, height });
  const layers = matrices.map((matrix, i) => layerOf(matrix, places[i], cell));
  for (const { group } of layers) picture.append(group);

  /** @param {number} frame */
  function draw(frame) {
    const done = finished(frames, frame, matrices.length);
    layers.forEach(({ done: path, marks }, i) => {
      path.setAttribute("d", done[i].map((box) => outline(box, cell)).join(""));
      const cells = frames[frame].cells.filter(([matrix]) => matrix === i);
      while (marks.childNodes.length > cells.length) marks.lastChild?.remove();
      while (marks.childNodes.length < cells.length) marks.append(svg("rect", { rx: 1.5 }));
      cells.forEach((each, k) => mark(/** @type {SVGRectElement} */ (marks.childNodes[k]), each, cell));
    });
  }

  const legend = /** @type {[string, string][]} */ (
    ["read", "sum", "write"]
      .filter((use) => frames.some(({ cells }) => cells.some((each) => each[1] === use)))
      .map((use) => [`walk-${use}`, word(`moving.legend-${use}`)])
  );
  legend.push(["walk-done", word("moving.legend-done")]);
  return { name, n: frames.length, picture, legend, draw, text: (frame) => walkText(frames[frame]) };
}

/** @param {WalkFrame} frame */
export function walkText({ at, reads, sums, writes }) {
  const parts = [
    reads && word("moving.reads", { elements: reads }),
    sums && word("moving.sums", { elements: sums }),
    writes && word("moving.writes", { elements: writes }),
  ].filter(Boolean);
  return at ? word("moving.iteration", { at, parts: parts.join("; ") }) : parts.join("; ");
}

/** @param {LessonMatrix} matrix */
function titleOf({ name, shape }) {
  return shape.length ? `${name} ${shape.join(" × ")}` : name;
}

/**
 * Return the places of matrices. For a product Y of A and B, B is above Y, and A is left of Y: so a row of A
 * and a column of B meet in their element of Y. Other matrices are in a row.
 * @param {LessonMatrix[]} matrices
 * @returns {{cell: number, places: Place[], width: number, height: number}}
 */
export function arrangement(matrices) {
  const product = asProduct(matrices);
  if (product) {
    const [a, b, y] = product;
    const cell = sized((WIDTH - GAP) / (a.columns + y.columns), (HEIGHT - GAP - 2 * TITLE) / (b.rows + y.rows));
    const left = Math.max(a.columns * cell, titleOf(a).length * CHARACTER) + GAP;
    const top = TITLE + b.rows * cell + GAP + TITLE;
    /** @type {Map<LessonMatrix, Place>} */
    const places = new Map([[a, { x: 1, y: top }], [b, { x: left, y: TITLE }], [y, { x: left, y: top }]]);
    const wide = Math.max(y.columns * cell, titleOf(b).length * CHARACTER);
    return {
      cell,
      places: matrices.map((each) => /** @type {Place} */ (places.get(each))),
      width: left + wide + 2,
      height: top + y.rows * cell + 2,
    };
  }
  const columns = matrices.reduce((sum, each) => sum + each.columns, 0);
  const rows = Math.max(...matrices.map((each) => each.rows));
  const cell = sized((WIDTH - GAP * (matrices.length - 1)) / columns, (HEIGHT - TITLE) / rows);
  let x = 1;
  const places = matrices.map((each) => {
    const place = { x, y: TITLE };
    x += Math.max(each.columns * cell, titleOf(each).length * CHARACTER) + GAP;
    return place;
  });
  return { cell, places, width: x - GAP + 2, height: TITLE + rows * cell + 2 };
}

/** @param {number} a @param {number} b largest sizes of a cell by width and by height */
function sized(a, b) {
  return Math.max(SMALLEST, Math.min(LARGEST, Math.floor(Math.min(a, b))));
}

/**
 * Return the operands and the result of a matrix product, if these are the matrices.
 * @param {LessonMatrix[]} matrices
 * @returns {[LessonMatrix, LessonMatrix, LessonMatrix] | null}
 */
function asProduct(matrices) {
  const y = matrices.find(({ role }) => role === "output");
  const others = matrices.filter((each) => each !== y);
  if (!y || others.length !== 2 || matrices.some(({ shape }) => shape.length !== 2)) return null;
  for (const [a, b] of [others, [...others].reverse()])
    if (a.rows === y.rows && b.columns === y.columns && a.columns === b.rows) return [a, b, y];
  return null;
}

/** @param {LessonMatrix} matrix @param {Place} place @param {number} cell */
function layerOf(matrix, { x, y }, cell) {
  const [width, height] = [matrix.columns * cell, matrix.rows * cell];
  const done = svg("path", { class: "walk-done" });
  const marks = svg("g", { class: "walk-marks" });
  const across = Array.from({ length: matrix.rows - 1 }, (_, i) => `M0 ${(i + 1) * cell}H${width}`);
  const down = Array.from({ length: matrix.columns - 1 }, (_, i) => `M${(i + 1) * cell} 0V${height}`);
  const group = svg(
    "g",
    { transform: `translate(${x} ${y})` },
    svg("text", { x: 0, y: -6, class: "walk-title" }, titleOf(matrix)),
    svg("rect", { class: "walk-matrix", width, height }),
    done,
    svg("path", { class: "walk-lines", d: [...across, ...down].join("") }),
    marks,
  );
  return { group, done, marks };
}

/** @typedef {import("../../wire.js").WalkCells} WalkCells */

/** @param {SVGRectElement} rect @param {WalkCells} box @param {number} cell */
function mark(rect, [, use, row, column, rows, columns], cell) {
  rect.setAttribute("class", `walk-mark walk-${use}`);
  rect.setAttribute("x", String(column * cell));
  rect.setAttribute("y", String(row * cell));
  rect.setAttribute("width", String(columns * cell));
  rect.setAttribute("height", String(rows * cell));
}

/** @param {WalkCells} box @param {number} cell */
function outline([, , row, column, rows, columns], cell) {
  return `M${column * cell} ${row * cell}h${columns * cell}v${rows * cell}h${-columns * cell}z`;
}

/**
 * Return the elements that earlier frames have written, for each matrix.
 * @param {WalkFrame[]} frames
 * @param {number} frame
 * @param {number} n number of matrices
 * @returns {WalkCells[][]}
 */
export function finished(frames, frame, n) {
  /** @type {WalkCells[][]} */
  const found = Array.from({ length: n }, () => []);
  for (const { cells } of frames.slice(0, frame))
    for (const each of cells) if (each[1] === "write") found[each[0]].push(each);
  return found;
}
