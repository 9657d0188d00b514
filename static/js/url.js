// What of the state is in the URL's fragment, and how: `#v=1&model=sample:lenet&stage=4...`.
//
// All that somebody can set in the page and would miss in a link has a row in FIELDS. The theme, the width
// of the panes and whether single letters are keys belong to the reader. A button that only does
// something has no state; the text of the fragment is made of the rows alone.
//
// A shared link must open for ever: when the form changes, raise VERSION and teach `upgrade` the
// old one. Unknown keys are ignored, and what cannot be read falls back to its default.
import { edgeOf } from "./graph/edge_walk.js";
import { OVERLAYS } from "./graph/overlays.js";
import { choice, named, numbers, one, several, text, whole } from "./fields.js";
import { LINK_CHARACTERS, lengthInLink } from "./writing.js";

export const VERSION = 1;

/** Levels of a kernel's code, from the machine's up. */
export const LEVELS = ["asm", "llvm", "loops", "schedule"];

/** Levels of a kernel's code in two compilations, from the model's down. */
export const COMPARED_LEVELS = ["computation", "schedule", "loops", "llvm", "asm"];

/** Switches and folds that a link keeps, by the names under which `on` lists those that are not as at first. */
export const SWITCHES = /** @type {const} */ ([
  "changed-passes",
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

/** Things that open at what is looked at; `unfolded` lists them as "KIND:WHICH". */
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

/** What the list of passes can be sorted by; "" is the order in which they ran. */
export const ORDERS = /** @type {const} */ (["", "bytes", "nodes", "time"]);

/** For how long a run is measured again, in seconds. */
export const MEASURED_FOR = /** @type {const} */ (["0.5", "2", "10"]);

/** What the server takes at most. */
export const MAX_THREADS = 64;

/**
 * @typedef {"before" | "after" | "diff"} View
 * @typedef {{x: number, y: number, zoom: number}} Camera  centre in drawing units, pixels per unit
 *
 * @typedef {object} Place what a link restores
 * @property {"start" | "walk"} screen
 * @property {string} model "" or "sample:NAME" or "upload:DIGEST"
 * @property {string} written text of a written model behind its language: "py:..." or "ir:..."
 * @property {Record<string, string>} shapes input name -> "1,3,224,224", only for open inputs
 * @property {string} pipeline text form; a row switched off has "-" before its name
 * @property {string} precision accuracy of the arithmetic: a mode's name
 * @property {number} threads that a run may use at once
 * @property {string} job
 * @property {number} stage 0 = as imported, n = after pass n
 * @property {View} view
 * @property {import("./graph/overlays.js").OverlayName} color what the nodes are coloured by
 * @property {string[]} selection ONNX node names
 * @property {string} at key of the node in focus, "" for none
 * @property {string} edge "a\tb": the edge from node a to node b that is looked at, "" for none
 * @property {string} pane
 * @property {number} kernel the kernel whose code is shown, -1 for that of the selection
 * @property {string} line "3:12": line 12 of the Loop IR of kernel 3, followed through all code
 * @property {string} step "28:4": step 4 of stage 28, opened and boxed in the drawing
 * @property {string} other job that this one is compared with, "" for none
 * @property {string} pair "3:5": kernel 3 of this job beside kernel 5 of the other; one may be left out
 * @property {string} code level at which the two are compared
 * @property {string} check job that checked the numbers of this one, "" for none
 * @property {number} base stage that drawing and text are compared with; -1 for the one before
 * @property {string[]} open groups of a large graph that are drawn opened
 * @property {string} platform that kernels are placed on
 * @property {string} scheduler that decides where they run
 * @property {number} ahead for how many kernels operands are brought early; -1 for all
 * @property {string} tuning job that looks for faster schedules, "" for none
 * @property {string} bisect job that looks for the rules that move the numbers, "" for none
 * @property {string} tune what such a job is asked for, "20:annealing:3": seconds, search, kernel ("" for all)
 * @property {string} targets "host,aarch64": two machines whose code is side by side
 * @property {string} level of code that is put side by side
 * @property {[number, number]} pins lines of the two machines' Loop IR that are followed, -1 for none
 * @property {string} edited "3:TEXT": the schedule of kernel 3 that is being edited, "" for none
 * @property {[from: number, to: number]} span shares of the simulated run that are in view
 * @property {string} measured the job that measured the run again, "" for the compilation itself
 * @property {"" | "scope" | "operator"} flame what the parts of a run are grouped by, "" for what suits
 * @property {string} within key of the part of the run that is looked into, "" for all of it
 * @property {Camera | null} camera null: as the drawing is first shown
 * @property {string[]} without rules that the compilation leaves out
 * @property {string} tuned job that found the schedules which the compilation used, "" for none
 * @property {(typeof SWITCHES)[number][]} on switches and folds that are not as at first
 * @property {string[]} unfolded what is not as at first of that which is looked at: another selection forgets it
 * @property {string[]} sort "kernels:time:down": tables by the column that sorts them
 * @property {string} filter what the names of the listed passes have in them
 * @property {(typeof ORDERS)[number]} order of the list of passes
 * @property {string} find what is searched for in the drawing
 * @property {"" | "legend" | "map"} over which of the two lies over the drawing in a small window
 * @property {"all" | "applied" | "declined"} outcome of the steps that are listed
 * @property {string} rule of the steps that are listed, "" for all
 * @property {"unified" | "split"} diff how the text of the graph stands beside that of another stage
 * @property {"" | "unified" | "split"} sides the same of two kernels, "" for what there is room for
 * @property {"all" | "native" | "fallback"} kernels that are listed
 * @property {(typeof MEASURED_FOR)[number]} seconds for which a run is measured again
 * @property {number} candidates of which tuned kernel
 * @property {"0" | "half" | ""} moved what a smallest set of rules is to do: "" to go beyond what is allowed
 * @property {string[]} off rules of such a set that are switched off for the next try
 * @property {string} planned pipeline of B, when it is neither A's nor that of the compared job
 */

/**
 * One row for each part of a place: where it starts, and how the fragment says it.
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
};

export const PLACE_KEYS = /** @type {(keyof Place)[]} */ (Object.keys(FIELDS));

export const START = /** @type {Place} */ (
  Object.fromEntries(PLACE_KEYS.map((key) => [key, FIELDS[key].start]))
);

const TEXTS = /** @type {const} */ (["written", "edited"]);

/**
 * The texts that an address has no room for, and how many characters of it each would take.
 * @param {Place} place
 */
export const tooLong = (place) =>
  TEXTS.map((key) => ({ key, n: lengthInLink(place[key]) })).filter(({ n }) => n > LINK_CHARACTERS);

/**
 * The fragment that says this place, without "#"; what is at its default is left out.
 * @param {Place} place
 * @returns {string}
 */
export function toFragment(place) {
  const query = new URLSearchParams();
  query.set("v", String(VERSION));
  for (const key of PLACE_KEYS)
    for (const each of said(key, place)) query.append(FIELDS[key].as ?? key, each);
  // Readable where the fragment's grammar allows it.
  return query.toString().replace(/%2C/g, ",").replace(/%3A/g, ":").replace(/%2F/g, "/");
}

/**
 * The place that a fragment says; `START` for one that says nothing.
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
 * Brings a fragment of an older version to this one. There is none older yet; a fragment of a newer
 * version, from a page not yet reloaded, is read as far as it is understood.
 * @param {URLSearchParams} old
 * @returns {URLSearchParams}
 */
export function upgrade(old) {
  const query = new URLSearchParams(old);
  if (!query.has("v")) query.set("v", String(VERSION));
  return query;
}

/**
 * A text that is left out where it is too long for an address.
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
 * The second number of "3:12" when the first is the one asked for, else -1.
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
