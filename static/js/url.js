// What of the state is in the URL's fragment, and how: `#v=1&model=sample:lenet&stage=4...`.
//
// A shared link must open for ever: when the form changes, raise VERSION and teach `upgrade` the
// old one. Unknown keys are ignored, and what cannot be read falls back to its default.
import { edgeOf } from "./graph/edge_walk.js";
import { OVERLAYS } from "./graph/overlays.js";
import { LINK_CHARACTERS, lengthInLink } from "./writing.js";

export const VERSION = 1;

/** Levels of a kernel's code, from the machine's up. */
export const LEVELS = ["asm", "llvm", "loops", "schedule"];

/** Levels of a kernel's code in two compilations, from the model's down. */
export const COMPARED_LEVELS = ["computation", "schedule", "loops", "llvm", "asm"];

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
 * @property {string} edited "3:TEXT": the schedule of kernel 3 that is being edited, "" for none
 * @property {[from: number, to: number]} span shares of the simulated run that are in view
 * @property {string} measured the job that measured the run again, "" for the compilation itself
 * @property {"" | "scope" | "operator"} flame what the parts of a run are grouped by, "" for what suits
 * @property {string} within key of the part of the run that is looked into, "" for all of it
 * @property {Camera | null} camera null: as the drawing is first shown
 */

/** @type {Place} */
export const START = {
  screen: "start",
  model: "",
  written: "",
  shapes: {},
  pipeline: "",
  precision: "f32",
  threads: 1,
  job: "",
  stage: 0,
  view: "diff",
  color: "family",
  selection: [],
  at: "",
  edge: "",
  pane: "steps",
  kernel: -1,
  line: "",
  step: "",
  other: "",
  pair: "",
  code: "schedule",
  check: "",
  base: -1,
  open: [],
  platform: "gpu",
  scheduler: "iterated",
  ahead: -1,
  tuning: "",
  bisect: "",
  tune: "",
  targets: "host,aarch64",
  level: "asm",
  edited: "",
  span: [0, 1],
  measured: "",
  flame: "",
  within: "",
  camera: null,
};

export const PLACE_KEYS = /** @type {(keyof Place)[]} */ (Object.keys(START));

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
  for (const key of /** @type {const} */ ([
    "screen",
    "model",
    "pipeline",
    "precision",
    "job",
    "other",
    "pair",
    "code",
    "check",
    "line",
    "step",
    "view",
    "color",
    "at",
    "edge",
    "pane",
    "platform",
    "scheduler",
    "tuning",
    "bisect",
    "tune",
    "targets",
    "level",
    "measured",
    "flame",
    "within",
  ])) {
    if (place[key] !== START[key]) query.set(key, place[key]);
  }
  const left = tooLong(place).map(({ key }) => key);
  for (const key of TEXTS)
    if (place[key] !== START[key] && !left.includes(key)) query.set(key, place[key]);
  for (const [name, dims] of Object.entries(place.shapes)) query.append("shape", `${name}=${dims}`);
  for (const key of /** @type {const} */ (["threads", "stage", "base", "kernel", "ahead"])) {
    if (place[key] !== START[key]) query.set(key, String(place[key]));
  }
  for (const origin of place.selection) query.append("select", origin);
  for (const group of place.open) query.append("open", group);
  if (place.span[0] !== 0 || place.span[1] !== 1)
    query.set("span", place.span.map((each) => each.toFixed(4)).join(","));
  if (place.camera) {
    const { x, y, zoom } = place.camera;
    query.set("camera", [x.toFixed(1), y.toFixed(1), zoom.toPrecision(4)].join(","));
  }
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
  const text = (/** @type {string} */ key, /** @type {string} */ otherwise) =>
    query.get(key) ?? otherwise;
  return {
    screen: oneOf(query.get("screen"), ["start", "walk"], START.screen),
    model: text("model", START.model),
    written: text("written", START.written),
    shapes: shapesFrom(query.getAll("shape")),
    pipeline: text("pipeline", START.pipeline),
    precision: text("precision", START.precision),
    threads: threadsFrom(query.get("threads")),
    job: text("job", START.job),
    stage: wholeNumber(query.get("stage"), START.stage),
    view: oneOf(query.get("view"), ["before", "after", "diff"], START.view),
    selection: [...new Set(query.getAll("select"))],
    color: oneOf(query.get("color"), OVERLAYS, START.color),
    at: text("at", START.at),
    edge: edgeOf(text("edge", "")) ? text("edge", "") : START.edge,
    pane: text("pane", START.pane),
    kernel: wholeNumber(query.get("kernel"), START.kernel),
    line: pairFrom(query.get("line")),
    step: pairFrom(query.get("step")),
    other: text("other", START.other),
    pair: /^(?=.*\d)\d{0,6}:\d{0,6}$/.test(text("pair", "")) ? text("pair", "") : START.pair,
    code: oneOf(query.get("code"), COMPARED_LEVELS, START.code),
    check: text("check", START.check),
    base: wholeNumber(query.get("base"), START.base),
    open: [...new Set(query.getAll("open"))],
    platform: text("platform", START.platform),
    scheduler: text("scheduler", START.scheduler),
    ahead: Math.max(-1, wholeNumber(query.get("ahead"), START.ahead)),
    tuning: text("tuning", START.tuning),
    bisect: text("bisect", START.bisect),
    tune: /^\d{1,6}(\.\d+)?:[a-z]+:\d{0,6}$/.test(text("tune", "")) ? text("tune", "") : START.tune,
    targets: text("targets", START.targets),
    level: oneOf(query.get("level"), LEVELS, START.level),
    edited: editedFrom(query.get("edited")),
    span: spanFrom(query.get("span")),
    measured: text("measured", START.measured),
    flame: oneOf(query.get("flame"), ["", "scope", "operator"], START.flame),
    within: text("within", START.within),
    camera: cameraFrom(query.get("camera")),
  };
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
 * @template {string} T
 * @param {string | null} value
 * @param {readonly T[]} allowed
 * @param {T} otherwise
 * @returns {T}
 */
function oneOf(value, allowed, otherwise) {
  return allowed.find((each) => each === value) ?? otherwise;
}

/**
 * @param {string | null} text
 * @param {number} otherwise
 */
function wholeNumber(text, otherwise) {
  return text !== null && /^-?\d{1,6}$/.test(text) ? Number(text) : otherwise;
}

/** @param {string | null} text */
function pairFrom(text) {
  return text !== null && /^\d{1,6}:\d{1,6}$/.test(text) ? text : "";
}

/** @param {string | null} text */
function editedFrom(text) {
  return text !== null && /^\d{1,6}:/.test(text) ? text : "";
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

/** @param {string | null} text */
function threadsFrom(text) {
  return Math.min(Math.max(wholeNumber(text, START.threads), 1), MAX_THREADS);
}

/**
 * @param {string[]} pairs
 * @returns {Record<string, string>}
 */
function shapesFrom(pairs) {
  /** @type {Record<string, string>} */
  const shapes = {};
  for (const pair of pairs) {
    // Names may hold "=", dims cannot.
    const cut = pair.lastIndexOf("=");
    if (cut > 0) shapes[pair.slice(0, cut)] = pair.slice(cut + 1);
  }
  return shapes;
}

/**
 * @param {string | null} text
 * @returns {[number, number]}
 */
function spanFrom(text) {
  const [from, to, ...more] = (text ?? "").split(",").map(Number);
  return from >= 0 && from < to && to <= 1 && more.length === 0 ? [from, to] : START.span;
}

/**
 * @param {string | null} text
 * @returns {Camera | null}
 */
function cameraFrom(text) {
  const numbers = (text ?? "").split(",").map(Number);
  if (numbers.length !== 3 || !numbers.every(Number.isFinite) || numbers[2] <= 0 || text === "")
    return null;
  return { x: numbers[0], y: numbers[1], zoom: numbers[2] };
}
