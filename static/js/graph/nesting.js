// Open groups of the drawing, and their nested layouts. Each layout covers a single level: an open
// group is a box with the size of its own layout.
// See docs/graph-view.md.

/**
 * @typedef {import("../wire.js").Union} Union
 * @typedef {import("../wire.js").UnionGroup} UnionGroup
 * @typedef {import("./dot_layout.js").Layout} Layout
 * @typedef {import("./places.js").Place} Place
 * @typedef {import("./places.js").EdgePlace} EdgePlace
 *
 * @typedef {Pick<Place, "ids" | "label" | "times" | "kind" | "node">} Thing
 * @typedef {{width: number, height: number, boxes: Place[], frames: Place[], edges: EdgePlace[]}} Nested
 *
 * @typedef {object} Levels the parts of a union that define its layout
 * @property {string} dot
 * @property {Pick<UnionGroup, "key" | "group" | "width" | "dot">[]} groups
 */

/** Padding of an open group, and the height of its header. */
const PAD = 14;
export const HEADER = 30;
const POINTS_PER_INCH = 72;
/** Names of the ports of a group in its DOT, where edges cross its border. */
const [INTO, OUT_OF] = ["into", "out_of"];

/**
 * Return the visible open groups: the default of the union, changed by the toggles ("g3" opens g3, "-g4"
 * closes g4).
 * @param {Union} union
 * @param {string[]} toggled
 * @returns {Set<string>}
 */
export function openGroups({ groups }, toggled) {
  const wanted = new Map(
    toggled.map((each) => (each.startsWith("-") ? [each.slice(1), false] : [each, true])),
  );
  /** @type {Set<string>} */
  const open = new Set();
  for (const { key, group, open: atFirst } of groups)
    if ((group === "" || open.has(group)) && (wanted.get(key) ?? atFirst)) open.add(key);
  return open;
}

/**
 * Return the toggles that open or close these groups and leave all others unchanged.
 * @param {Union} union
 * @param {string[]} toggled
 * @param {Iterable<string>} keys
 * @param {boolean} open
 * @returns {string[]}
 */
export function toggle({ groups }, toggled, keys, open) {
  const known = new Map(groups.map((group) => [group.key, group]));
  const changed = new Set(keys);
  const rest = toggled.filter((each) => !changed.has(each.replace(/^-/, "")));
  const own = [...changed].filter((key) => known.has(key) && known.get(key)?.open !== open);
  return [...rest, ...own.map((key) => (open ? key : `-${key}`))];
}

/**
 * Return the groups on the path to each group, outermost first, including the group itself.
 * @param {{groups: Pick<UnionGroup, "key" | "group">[]}} union
 * @returns {Map<string, string[]>} by key of the group; the path of "" is empty
 */
export function pathsOf({ groups }) {
  const paths = new Map([["", /** @type {string[]} */ ([])]]);
  for (const { key, group } of groups) paths.set(key, [...(paths.get(group) ?? []), key]);
  return paths;
}

/**
 * Return the number of boxes drawn.
 * @param {Union} union
 * @param {Set<string>} open
 */
export function countBoxes(union, open) {
  const { nodes, groups } = union;
  const headers = headersOf(union);
  const isSeen = (/** @type {{group: string}} */ { group }) => group === "" || open.has(group);
  const boxes = nodes.filter((each) => isSeen(each) && !headers.has(each.id));
  return boxes.length + groups.filter((each) => isSeen(each) && !open.has(each.key)).length;
}

/**
 * Return the control-flow nodes, which are drawn as the groups of their bodies: id -> key of the group.
 * @param {{groups: Pick<UnionGroup, "key" | "node">[]}} union
 * @returns {Map<string, string>}
 */
export function headersOf({ groups }) {
  return new Map(groups.flatMap(({ key, node }) => (node === undefined ? [] : [[node, key]])));
}

/**
 * Lay out every open group, innermost first, then the whole drawing.
 * @param {Levels} union
 * @param {Set<string>} open
 * @param {(dots: string[]) => Promise<Layout[]>} layout
 * @returns {Promise<Map<string, Layout>>} by key of the group, "" for the whole drawing
 */
export async function layoutNested({ dot, groups }, open, layout) {
  /** @type {Map<string, Layout>} */
  const layouts = new Map();
  const paths = pathsOf({ groups });
  const depthOf = (/** @type {string} */ key) => paths.get(key)?.length ?? 0;
  const levels = [{ key: "", dot }, ...groups.filter((group) => open.has(group.key))];
  for (let depth = Math.max(...levels.map(({ key }) => depthOf(key))); depth >= 0; depth--) {
    const now = levels.filter(({ key }) => depthOf(key) === depth);
    const sized = now.map((level) => withSizes(level.dot, groups.filter(({ key, group }) => group === level.key && open.has(key)), layouts));
    const found = await layout(sized);
    now.forEach(({ key }, i) => layouts.set(key, found[i]));
  }
  return layouts;
}

/**
 * Return the DOT text with open groups in the size of their content.
 * @param {string} dot
 * @param {Levels["groups"]} opened
 * @param {Map<string, Layout>} layouts
 */
function withSizes(dot, opened, layouts) {
  const lines = opened.map((group) => {
    const { w, h } = frameSize(group, /** @type {Layout} */ (layouts.get(group.key)));
    return `\t${group.key} [width=${inches(w)} height=${inches(h)}]\n`;
  });
  return dot.replace(/\}\s*$/, `${lines.join("")}}\n`);
}

/** @param {number} px */
function inches(px) {
  return (px / POINTS_PER_INCH).toFixed(3);
}

/**
 * @param {Pick<UnionGroup, "width">} group
 * @param {Layout} layout
 */
function frameSize({ width }, layout) {
  return { w: Math.max(width, layout.width + 2 * PAD), h: layout.height + HEADER + PAD };
}

/** Nodes or edges placed per step. */
const PER_STEP = 256;

/**
 * Place all drawn items, in short steps.
 * @param {Union} union
 * @param {Set<string>} open
 * @param {Map<string, Layout>} layouts of the open groups and of the whole drawing
 * @returns {Generator<void, Nested>}
 */
export function* nest(union, open, layouts) {
  const whole = /** @type {Layout} */ (layouts.get(""));
  /** @type {Nested} */
  const nested = { width: whole.width, height: whole.height, boxes: [], frames: [], edges: [] };
  const things = yield* thingsOf(union);
  yield* putLevel("", 0, 0, []);
  return nested;

  /**
   * @param {string} level
   * @param {number} dx offset of the layout's corner
   * @param {number} dy
   * @param {string[]} around open groups, outermost first
   * @returns {Generator<void>}
   */
  function* putLevel(level, dx, dy, around) {
    const layout = /** @type {Layout} */ (layouts.get(level));
    const frame = nested.frames.find(({ key }) => key === level);
    /** @type {Map<string, number>} */
    const shiftIn = new Map();
    /** @type {Map<string, number>} */
    const shiftOut = new Map();
    for (const { key, x, y, w, h } of layout.nodes) {
      const thing = things.get(key);
      if (!thing) continue;
      const place = { ...thing, key, around, x: x + dx, y: y + dy, w, h };
      if (!open.has(key)) {
        if (nested.boxes.push(place) % PER_STEP === 0) yield;
        continue;
      }
      nested.frames.push(place);
      const inner = /** @type {Layout} */ (layouts.get(key));
      const left = place.x - inner.width / 2;
      yield* putLevel(key, left, place.y - h / 2 + HEADER, [...around, key]);
      shiftIn.set(key, left + portOf(inner, INTO) - place.x);
      shiftOut.set(key, left + portOf(inner, OUT_OF) - place.x);
    }
    for (const edge of layout.edges) {
      const path = edge.path.map((each, i) => each + (i % 2 ? dy : dx));
      // At an open group, an edge continues at the port of the inner layout.
      const n = path.length;
      const [out, into] = [shiftOut.get(edge.from) ?? 0, shiftIn.get(edge.to) ?? 0];
      path[0] += out;
      path[2] += out;
      path[n - 4] += into;
      path[n - 2] += into;
      if (frame && edge.from === INTO) path.unshift(...upTo(path[0], frame.y - frame.h / 2, path[1]));
      if (frame && edge.to === OUT_OF) path.push(...downTo(path[n - 2], path[n - 1], frame.y + frame.h / 2));
      const from = edge.from === INTO ? level : edge.from;
      const to = edge.to === OUT_OF ? level : edge.to;
      const n_edges = nested.edges.push({
        key: pieceKey(from, to),
        from,
        to,
        ends: edge.to !== OUT_OF && !open.has(edge.to),
        path,
        box: boxAround(path),
      });
      if (n_edges % PER_STEP === 0) yield;
    }
  }
}

/**
 * Collect the drawable items by key, in short steps: nodes, and groups with all their nodes.
 * @param {Union} union
 * @returns {Generator<void, Map<string, Thing>>}
 */
function* thingsOf(union) {
  const { nodes, groups } = union;
  const paths = pathsOf(union);
  /** @type {Map<string, Thing>} */
  const things = new Map();
  for (const { key, label, times, kind, node = "" } of groups) things.set(key, { ids: [], label, times, kind, node });
  for (const { key, id, group } of nodes) {
    things.set(key, { ids: [id], label: "", times: 1, kind: "node", node: id });
    for (const around of paths.get(group) ?? []) things.get(around)?.ids.push(id);
    if (things.size % PER_STEP === 0) yield;
  }
  return things;
}

/**
 * @param {Layout} layout
 * @param {string} port
 */
function portOf(layout, port) {
  return layout.nodes.find(({ key }) => key === port)?.x ?? layout.width / 2;
}

/** @param {number} x @param {number} top @param {number} to @returns {number[]} points to prepend to the path */
function upTo(x, top, to) {
  return [x, top, x, top, x, to];
}

/** @param {number} x @param {number} from @param {number} bottom @returns {number[]} points to append to the path */
function downTo(x, from, bottom) {
  return [x, from, x, bottom, x, bottom];
}

/**
 * @param {number[]} path
 * @returns {[number, number, number, number]}
 */
function boxAround(path) {
  /** @type {[number, number, number, number]} */
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i + 1 < path.length; i += 2) {
    box[0] = Math.min(box[0], path[i]);
    box[1] = Math.min(box[1], path[i + 1]);
    box[2] = Math.max(box[2], path[i]);
    box[3] = Math.max(box[3], path[i + 1]);
  }
  return box;
}

/** @param {string} from @param {string} to */
export function pieceKey(from, to) {
  return `${from} ${to}`;
}

/**
 * Return the drawn segments of an edge of the model, as pairs [from, to] of keys of drawn boxes.
 * @param {{key: string, around: string[]}} source
 * @param {{key: string, around: string[]}} target
 * @returns {[string, string][]} empty when both ends are in the same box
 */
export function piecesOf(source, target) {
  if (source.key === target.key) return [];
  const [a, b] = [[...source.around, source.key], [...target.around, target.key]];
  let shared = 0;
  while (shared < Math.min(a.length, b.length) - 1 && a[shared] === b[shared]) shared += 1;
  /** @type {[string, string][]} */
  const pieces = [];
  for (let at = a.length - 1; at > shared; at--) pieces.push([a[at], a[at - 1]]);
  pieces.push([a[shared], b[shared]]);
  for (let at = shared + 1; at < b.length; at++) pieces.push([b[at - 1], b[at]]);
  return pieces;
}
