// The text form of a pipeline, `simplify{until=fixpoint},-fold_constants{max_growth=1.1}`, and the
// rows of the editor. A disabled row keeps its place, is marked by "-", and is never sent to the
// compiler. A group, `until_stable(simplify,common_subexpression_elimination)`, is one row.

/**
 * @typedef {object} Row
 * @property {string} name
 * @property {Record<string, string>} options options as written; defaults are absent
 * @property {boolean} on
 * @property {string} inside the passes of a group, as written; "" for a pass
 */

const ROW = /^(-?)\s*([A-Za-z_]\w*)\s*(?:\{([^{}]*)\})?\s*(?:\(([^()]*)\))?$/;

export class PipelineTextError extends Error {
  /**
   * @param {string} piece
   */
  constructor(piece) {
    super(piece);
    this.piece = piece;
  }
}

/**
 * Parse a text form into rows. Throws PipelineTextError with the invalid piece.
 * @param {string} text
 * @returns {Row[]}
 */
export function parsePipeline(text) {
  return splitOutsideBraces(text)
    .map((piece) => piece.trim())
    .filter((piece) => piece !== "")
    .map((piece) => {
      const match = ROW.exec(piece);
      if (!match) throw new PipelineTextError(piece);
      return {
        name: match[2],
        options: parseOptions(match[3] ?? "", piece),
        on: match[1] === "",
        inside: match[4] ?? "",
      };
    });
}

/**
 * @param {string} text
 * @returns {string[]}
 */
function splitOutsideBraces(text) {
  const pieces = [""];
  let depth = 0;
  for (const c of text) {
    if (c === "{" || c === "(") depth += 1;
    if (c === "}" || c === ")") depth -= 1;
    if ((c === "," || c === "\n") && depth <= 0) pieces.push("");
    else pieces[pieces.length - 1] += c;
  }
  return pieces;
}

/**
 * @param {string} text
 * @param {string} piece
 * @returns {Record<string, string>}
 */
function parseOptions(text, piece) {
  /** @type {Record<string, string>} */
  const options = {};
  for (const part of text.split(",")) {
    if (part.trim() === "") continue;
    const cut = part.indexOf("=");
    const name = part.slice(0, cut).trim();
    if (cut < 0 || !/^\w+$/.test(name)) throw new PipelineTextError(piece);
    options[name] = part.slice(cut + 1).trim();
  }
  return options;
}

/**
 * Return the text form of a pipeline, including disabled rows.
 * @param {Row[]} rows
 * @returns {string}
 */
export function printPipeline(rows) {
  return rows.map((row) => (row.on ? "" : "-") + printRow(row)).join(",");
}

/**
 * Return the pipeline for the compiler, with the enabled rows only.
 * @param {Row[]} rows
 * @returns {string}
 */
export function enabledPipeline(rows) {
  return rows
    .filter((row) => row.on)
    .map(printRow)
    .join(",");
}

/** @param {Row} row */
function printRow(row) {
  const options = Object.entries(row.options).map(([name, value]) => `${name}=${value}`);
  const head = options.length ? `${row.name}{${options.join(",")}}` : row.name;
  return row.inside ? `${head}(${row.inside})` : head;
}

/**
 * Return the pipeline with all lines of a pass disabled; null if the pass has no line of its own.
 * @param {string} text
 * @param {string} pass
 * @returns {string | null}
 */
export function withoutPass(text, pass) {
  const rows = parsePipeline(text);
  if (!rows.some(({ name, on }) => on && name === pass)) return null;
  return printPipeline(rows.map((row) => (row.name === pass ? { ...row, on: false } : row)));
}

/**
 * Return the number of each row's pass in the order of execution, from 1; null for a disabled row, and from
 * the first group on, because a group repeats its passes as often as they change the graph.
 * @param {Pick<Row, "on" | "inside">[]} rows
 * @returns {(number | null)[]}
 */
export function passNumbers(rows) {
  const group = rows.findIndex(({ on, inside }) => on && inside !== "");
  let n = 0;
  return rows.map(({ on }, i) => (on && (group < 0 || i < group) ? ++n : null));
}

/**
 * Return the rows after moving a row to another place; unchanged if the row cannot move there.
 * @param {Row[]} rows
 * @param {number} from
 * @param {number} to
 * @returns {Row[]}
 */
export function moveRow(rows, from, to) {
  if (from === to || from < 0 || to < 0 || from >= rows.length || to >= rows.length) return rows;
  const moved = rows.slice();
  const [row] = moved.splice(from, 1);
  moved.splice(to, 0, row);
  return moved;
}
