// Encodes the shareable state in the URL's fragment: `#v=1&model=sample:lenet&stage=4...`.
//
// Every setting that a link should restore has a row in FIELDS; the fragment contains only these rows.
// The theme, the width of the panes and the switch of single-letter keys are settings of each user, which
// links omit. Buttons that only trigger an action have no state.
//
// A shared link must work forever: when the format changes, increment VERSION and extend `upgrade` for
// the old format. Unknown keys are ignored; invalid values give the defaults.
import { edgeOf } from "../graph/edge_walk.js";
import { OVERLAYS } from "../graph/overlays.js";
import { choice, named, numbers, one, several, text, whole } from "./fields.js";
import { LINK_CHARACTERS, lengthInLink } from "../text/writing.js";

export const VERSION = 1;

/** Levels of a kernel's code, from assembly upwards. */
export const LEVELS = ["asm", "llvm", "loops", "schedule"];

/** Levels of a kernel's code in two compilations, from the computation downwards. */
export const COMPARED_LEVELS = ["computation", "schedule", "loops", "llvm", "asm"];

/** Switches and folds that a link stores; `on` lists the names of switches that differ from the default. */
export const SWITCHES = /** @type {const} */ ([
  "unchanged-passes",
  "table",
  "search-done",
  "text-whole",
  "compare-whole",
  "steps-selected",
  "kernels-selected",
  "order-table",
  "tuning-table",
  "pipeline-text",
  "compare-editor",
  "compare-text",
]);

/** Folds of the current selection; `unfolded` lists them as "KIND:WHICH". */
export const FOLDS = /** @type {const} */ ([
  "options",
  "compare-options",
  "example",
  "near-miss",
  "region",
  "verdict",
  "move",
]);

/** Tables that can be sorted. */
export const TABLES = /** @type {const} */ ([
  "kernels",
  "memory",
  "devices",
  "profile",
  "roofline",
  "tuning",
  "targets",
  "numerics-stages",
  "numerics-values",
  "pairs",
]);

/** Sort keys of the list of passes; "" is the execution order. */
export const ORDERS = /** @type {const} */ (["", "bytes", "nodes", "time"]);

/** Durations of a repeated measurement, in seconds. */
export const MEASURED_FOR = /** @type {const} */ (["0.5", "2", "10"]);

/** Number of stops of the tour. */
export const TOUR_STOPS = 5;

/** Maximum number of threads that the server accepts. */
export const MAX_THREADS = 64;

/**
 * @typedef {"before" | "after" | "diff"} View
 * @typedef {{x: number, y: number, zoom: number}} Camera  centre in drawing units, pixels per unit
 *
 * @typedef {object} Place the state that a link restores
 * @property {"start" | "walk"} screen
 * @property {string} model "" or "sample:NAME" or "upload:DIGEST"
 * @property {string} written text of a written model with a language prefix: "py:..." or "ir:..."
 * @property {Record<string, string>} shapes input name -> "1,3,224,224", only for open inputs
 * @property {string} pipeline text form; a disabled row has "-" before its name
 * @property {string} precision accuracy of the arithmetic: a mode's name
 * @property {number} threads maximum number of threads of a run
 * @property {string} job
 * @property {number} stage 0 = as imported, n = after pass n
 * @property {View} view
 * @property {import("../graph/overlays.js").OverlayName} color property that colours the nodes
 * @property {string[]} selection ONNX node names
 * @property {string} at key of the node in focus, "" for none
 * @property {string} edge "a\tb": the chosen edge, from node a to node b; "" for none
 * @property {string} pane
 * @property {number} kernel the kernel whose code is shown, -1 for the kernel of the selection
 * @property {string} line "3:12": line 12 of the Loop IR of kernel 3, linked with the code at all levels
 * @property {string} step "28:4": step 4 of stage 28, opened and boxed in the drawing
 * @property {string} other job compared with this job, "" for none
 * @property {string} pair "3:5": kernel 3 of this job compared with kernel 5 of the other job; one number may be absent
 * @property {string} code level of the comparison
 * @property {string} check job that checked the numbers of this job, "" for none
 * @property {number} base stage with which drawing and text are compared; -1 for the previous stage
 * @property {string[]} open toggled groups of a large graph
 * @property {string} platform platform of the placement
 * @property {string} scheduler scheduler of the placement
 * @property {number} ahead number of kernels by which operands are prefetched; -1 for as early as possible
 * @property {string} tuning tuning job, "" for none
 * @property {string} bisect bisection job, "" for none
 * @property {string} tune request of a tuning job, "20:annealing:3": seconds, search, kernel ("" for all)
 * @property {string} targets "host,aarch64": two machines whose code is shown side by side
 * @property {string} level level of the code shown side by side
 * @property {[number, number]} pins pinned lines of the two targets' Loop IR, -1 for none
 * @property {string} edited "3:TEXT": the schedule of kernel 3 that is being edited, "" for none
 * @property {[from: number, to: number]} span visible time of the simulated run, as shares of its duration
 * @property {string} measured job of the repeated measurement, "" for the compilation itself
 * @property {string} ran job that ran the program on given inputs, "" for none
 * @property {"" | "scope" | "operator"} flame grouping of the parts of a run, "" for automatic
 * @property {string} within key of the zoomed part of the run, "" for the whole run
 * @property {Camera | null} camera null: the initial view
 * @property {string[]} without rules disabled in the compilation
 * @property {string} tuned tuning job whose schedules the compilation used, "" for none
 * @property {(typeof SWITCHES)[number][]} on switches and folds that differ from the default
 * @property {string[]} unfolded folds of the current selection that differ from the default; a new selection resets them
 * @property {string[]} sort "kernels:time:down": table, column by which it is sorted, direction
 * @property {string} filter substring of the names of the listed passes
 * @property {(typeof ORDERS)[number]} order order of the list of passes
 * @property {string} find search text in the drawing
 * @property {"" | "legend" | "map"} over the overlay shown in a small window
 * @property {"all" | "applied" | "declined"} outcome outcome of the listed steps
 * @property {string} rule rule of the listed steps, "" for all
 * @property {"unified" | "split"} diff layout of the graph's text diff
 * @property {"" | "unified" | "split"} sides layout of the code comparison, "" for automatic
 * @property {"all" | "native" | "fallback"} kernels listed kernels
 * @property {(typeof MEASURED_FOR)[number]} seconds duration of a repeated measurement
 * @property {number} candidates tuned kernel whose candidates are shown
 * @property {"0" | "half" | ""} moved required effect of the minimal set of rules: "" for errors beyond the tolerance
 * @property {string[]} off rules of the minimal set that are disabled in the next compilation
 * @property {number} tour stop of the tour, from 1; 0 if the tour is closed
 * @property {string} planned edited pipeline of B, if it differs from those of A and of the compared job
 */

/**
 * The fields of a place: default, and encoding in the fragment.
 * @type {{[K in keyof Place]: import("./fields.js").Field<Place[K]>}}
 */
const FIELDS = {
  screen: choice(["start", "walk"]),
  model: text(),
  pipeline: text(),
  precision: text("f32"),
  job: text(),
  other: text(),
  pair: text("", /^(?=.*\d)\d{0,6}:\d{0,6}$/),
  code: choice(COMPARED_LEVELS, "schedule"),
  check: text(),
  line: text("", /^\d{1,6}:\d{1,6}$/),
  step: text("", /^\d{1,6}:\d{1,6}$/),
  view: choice(["before", "after", "diff"], "diff"),
  color: choice(OVERLAYS, "family"),
  at: text(),
  edge: one("", (said) => (edgeOf(said) ? said : null)),
  pane: text("steps"),
  platform: text("gpu"),
  scheduler: text("iterated"),
  tuning: text(),
  bisect: text(),
  tune: text("", /^\d{1,6}(\.\d+)?:[a-z]+:\d{0,6}$/),
  targets: text("host,aarch64"),
  level: choice(LEVELS),
  pins: numbers(/** @type {[number, number]} */ ([-1, -1]), (lines) =>
    lines.every((each) => Number.isInteger(each) && each >= -1),
  ),
  measured: text(),
  ran: text(),
  flame: choice(["", "scope", "operator"]),
  within: text(),
  written: shortened(text()),
  edited: shortened(text("", /^\d{1,6}:/)),
  shapes: named("shape"),
  threads: whole(1, 1, MAX_THREADS),
  stage: whole(0),
  base: whole(-1),
  kernel: whole(-1),
  ahead: whole(-1, -1),
  selection: several("select"),
  open: several("open"),
  span: numbers(
    /** @type {[number, number]} */ ([0, 1]),
    ([from, to]) => from >= 0 && from < to && to <= 1,
  ),
  camera: one(/** @type {Camera | null} */ (null), cameraFrom, (camera) =>
    camera
      ? [camera.x.toFixed(1), camera.y.toFixed(1), camera.zoom.toPrecision(4)].join(",")
      : "",
  ),
  without: several("without"),
  tuned: text(),
  on: switches(),
  unfolded: several("unfolded", (said) => FOLDS.some((kind) => said.startsWith(`${kind}:`))),
  sort: several("sort", (said) =>
    TABLES.some((table) => said.startsWith(`${table}:`)) && /^[\w.-]+:[\w.-]+:(up|down)$/.test(said),
  ),
  filter: text(),
  order: choice(ORDERS),
  find: text(),
  over: choice(["", "legend", "map"]),
  outcome: choice(["all", "applied", "declined"]),
  rule: text(),
  diff: choice(["unified", "split"]),
  sides: choice(["", "unified", "split"]),
  kernels: choice(["all", "native", "fallback"]),
  seconds: choice(MEASURED_FOR, "2"),
  candidates: whole(0, 0),
  moved: choice(["0", "half", ""]),
  off: several("off"),
  planned: text(),
  tour: whole(0, 0, TOUR_STOPS),
};

export const PLACE_KEYS = /** @type {(keyof Place)[]} */ (Object.keys(FIELDS));

/**
 * Return the shareable part of a state.
 * @param {Place} state
 * @returns {Place}
 */
export const shareable = (state) =>
  /** @type {Place} */ (Object.fromEntries(PLACE_KEYS.map((key) => [key, state[key]])));

export const START = /** @type {Place} */ (
  Object.fromEntries(PLACE_KEYS.map((key) => [key, FIELDS[key].start]))
);

const TEXTS = /** @type {const} */ (["written", "edited"]);

/**
 * Return the texts that are too long for a URL, with the number of characters that each text needs.
 * @param {Place} place
 */
export const tooLong = (place) =>
  TEXTS.map((key) => ({ key, n: lengthInLink(place[key]) })).filter(({ n }) => n > LINK_CHARACTERS);

/**
 * Return the fragment of a shareable state, without "#"; defaults are omitted.
 * @param {Place} place
 * @returns {string}
 */
export function toFragment(place) {
  const query = new URLSearchParams();
  query.set("v", String(VERSION));
  for (const key of PLACE_KEYS)
    for (const each of said(key, place)) query.append(FIELDS[key].as ?? key, each);
  // Characters that the grammar of fragments permits stay readable.
  return query.toString().replace(/%2C/g, ",").replace(/%3A/g, ":").replace(/%2F/g, "/");
}

/**
 * Return the state of a fragment; `START` for an empty fragment.
 * @param {string} fragment with or without "#"
 * @returns {Place}
 */
export function fromFragment(fragment) {
  const query = upgrade(new URLSearchParams(fragment.replace(/^#/, "")));
  return /** @type {Place} */ (
    Object.fromEntries(PLACE_KEYS.map((key) => [key, heard(key, query)]))
  );
}

/** @template {keyof Place} K @param {K} key @param {Place} place */
function said(key, place) {
  return FIELDS[key].write(place[key]);
}

/** @param {keyof Place} key @param {URLSearchParams} query */
function heard(key, query) {
  const { as = key, start, read } = FIELDS[key];
  const texts = query.getAll(as);
  return texts.length ? read(texts) : start;
}

/**
 * Upgrade a fragment of an older version; there are no older versions yet. If the page is older than
 * the fragment, it reads only the known keys.
 * @param {URLSearchParams} old
 * @returns {URLSearchParams}
 */
export function upgrade(old) {
  const query = new URLSearchParams(old);
  if (!query.has("v")) query.set("v", String(VERSION));
  return query;
}

/**
 * Declare a text field that the fragment omits if the text is too long for a URL.
 * @param {import("./fields.js").Field<string>} field
 * @returns {import("./fields.js").Field<string>}
 */
function shortened(field) {
  return {
    ...field,
    write: (value) => (lengthInLink(value) > LINK_CHARACTERS ? [] : field.write(value)),
  };
}

/** @returns {import("./fields.js").Field<Place["on"]>} */
function switches() {
  return {
    start: [],
    write: (value) => value,
    read: (texts) => SWITCHES.filter((each) => texts.includes(each)),
  };
}

/**
 * Return the second number of "3:12" if the first equals the given number, else -1.
 * @param {string} pair
 * @param {number} first
 */
export function secondOf(pair, first) {
  const [a, b] = pair.split(":");
  return pair !== "" && Number(a) === first ? Number(b) : -1;
}

/**
 * @param {string} said
 * @returns {Camera | null}
 */
function cameraFrom(said) {
  const found = said.split(",").map(Number);
  if (found.length !== 3 || !found.every(Number.isFinite) || found[2] <= 0) return null;
  return { x: found[0], y: found[1], zoom: found[2] };
}
