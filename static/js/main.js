// Entry point of the page: reads the state from the URL, synchronises state and URL, and mounts screens.
import { api } from "./server/api.js";
import { checkerOf } from "./jobs/checking.js";
import { asProblem, createCompiler, submitLinked } from "./jobs/compile.js";
import { listen, part } from "./elements/dom.js";
import { createLayouter } from "./graph/layout.js";
import { bindKeys } from "./elements/keys.js";
import { keepGraphs, keepNeighbours } from "./jobs/loader.js";
import { keepProfile } from "./jobs/measuring.js";
import { EMPTY, NO_RESULT } from "./state/page.js";
import { mountHeader } from "./panes/shell/header.js";
import { noteSandbox } from "./panes/shell/sandbox.js";
import { mountTerms } from "./panes/shell/terms.js";
import { openHelp } from "./panes/shell/help.js";
import { showProblem } from "./panes/shell/problem.js";
import { noteLink, noteVersion, openShare } from "./panes/shell/share.js";
import { mountStart } from "./panes/models/start.js";
import { mountWait } from "./panes/passes/wait.js";
import { warmReader } from "./server/reading.js";
import { isOfAnotherVersion, openedLink } from "./state/shared.js";
import { createState } from "./state/state.js";
import { colors, startTheme, toggleTheme } from "./elements/theme.js";
import { inOwnTask } from "./elements/scheduling.js";
import { whenActive } from "./elements/activity.js";
import { PLACE_KEYS, fromFragment, shareable, toFragment } from "./state/url.js";
import { word } from "./text/words.js";
import { canCompile } from "./text/writing.js";
import { work } from "./server/work.js";

const WRITE_AFTER_MS = 120;

startTheme();
// A link defines the initial state; a reload after navigation restores the later state.
const { link, problem: noLink } = openedLink(document);
const place = fromFragment(location.hash || !link ? location.hash : link.fragment);
/** @type {import("./state/page.js").Page} */
const page = { ...EMPTY, ...place, work, problem: noLink };
const state = createState(page);
const compiler = createCompiler(state, work.submit, noteLink);
const main = part(document, "main");
const help = /** @type {HTMLDialogElement} */ (document.getElementById("help-dialog"));
const sharing = /** @type {HTMLDialogElement} */ (document.getElementById("share-dialog"));
mountTerms(main);
const layouter = createLayouter(
  new URL(document.body.dataset.worker ?? "worker.js", document.baseURI).href,
);

/** @type {Record<string, () => boolean | void>} */
const general = {
  theme: toggleTheme,
  help: () => openHelp(help, actions.tour),
  compile: () => {
    if (canCompile(state.get())) void compiler.start();
  },
};
/** @type {Record<string, () => boolean | void>} */
let actions = general;
let stopScreen = () => {};
let screen = "";

learn(api.about(), (about) => state.set({ about }));
learn(api.sandbox(), (found) => noteSandbox(main, found));
learn(api.samples(), ({ samples }) => state.set({ samples }));
const outline = api.outline();
learn(outline, (pipelines) => state.set({ pipelines }));

// The first load is only as large as the start screen requires. A reader who acts soon sees a graph: fetch
// its code and the workers, the rules and the operators.
let isPrepared = false;
whenActive(prepareWalk);

function prepareWalk() {
  if (isPrepared) return;
  isPrepared = true;
  void walkCode().then(({ warmFonts }) => warmFonts(colors().sans), () => {}); // the walk reports a failure
  layouter.warm(state.get().screen === "start");
  warmReader();
  // In this order, the complete pipelines replace their outline.
  learn(outline.then(api.pipelines), (pipelines) => state.set({ pipelines }));
  learn(api.operators(), ({ operators }) =>
    state.set({ operators: new Map(operators.map((each) => [each.name, each])) }),
  );
}

function walkCode() {
  return import("./panes/passes/walk.js");
}

state.watch(["screen", "result"], (page) => {
  const next = page.screen === "start" ? "start" : page.result ? "walk" : "wait";
  if (next === screen) return;
  screen = next;
  stopScreen();
  actions = general;
  // A screen is mounted in a separate task.
  stopScreen = inOwnTask(() => {
    document.body.dataset.screen = next;
    if (next === "start") return mountStart(main, state, compiler, goBack);
    if (next === "wait") return mountWait(main, state);
    return showWalk();
  });
});

/**
 * Mount the walk as soon as its code has arrived.
 * @returns {() => void}
 */
function showWalk() {
  prepareWalk();
  let isWanted = true;
  let stop = () => {};
  learn(walkCode(), ({ mountWalk }) => {
    if (!isWanted) return;
    const walk = mountWalk(main, state, layouter);
    actions = { ...general, ...walk.actions };
    stop = walk.stop;
  });
  return () => {
    isWanted = false;
    stop();
  };
}

mountHeader(document, state);

// A problem during the walk is shown over the walk.
state.watch(["problem", "screen", "result"], ({ problem, screen: at, result }) => {
  document.getElementById("walk-problem")?.remove();
  if (!problem || at !== "walk" || !result) return;
  const box = document.createElement("dialog");
  box.id = "walk-problem";
  box.setAttribute("aria-label", problem.message);
  const inner = document.createElement("div");
  inner.className = "problem";
  showProblem(inner, problem);
  const close = document.createElement("button");
  close.className = "button";
  close.textContent = word("problem.close");
  close.addEventListener("click", () => state.set({ problem: null }));
  box.addEventListener("cancel", () => state.set({ problem: null }));
  box.append(inner, close);
  document.body.append(box);
  box.showModal();
});

keepGraphs(state);
keepNeighbours(state);
checkerOf(state);
keepProfile(state);
bindKeys(
  () => state.get().screen,
  new Proxy({}, { get: (_, id) => actions[String(id)], has: (_, id) => String(id) in actions }),
);

// The URL follows the state. Each new screen or result adds a history entry.
/** @type {ReturnType<typeof setTimeout> | undefined} */
let writing;
let pushes = false;
let written = location.hash;
/** @type {string} */
let chapter = state.get().screen;
state.watch(PLACE_KEYS, (page) => {
  if (page.screen !== chapter) {
    chapter = page.screen;
    clearTimeout(writing);
    // A history entry is slow in the browser: do not add it in the task that mounts a screen.
    writing = setTimeout(() => write(true), 0);
    pushes = true;
    return;
  }
  if (pushes) return;
  clearTimeout(writing);
  writing = setTimeout(() => write(false), WRITE_AFTER_MS);
});

/** @param {boolean} push */
function write(push) {
  pushes = false;
  const next = `#${toFragment(state.get())}`;
  if (next === written) return;
  written = next;
  // A short link stands for a single state, so the URL with the current state replaces it.
  if (push) history.pushState(null, "", `/${next}`);
  else history.replaceState(null, "", `/${next}`);
}

addEventListener("hashchange", () => {
  if (location.hash === written) return;
  written = location.hash;
  clearTimeout(writing);
  pushes = false;
  const place = fromFragment(location.hash);
  const { parts } = state.get();
  chapter = place.screen;
  const other =
    place.screen === "walk" && (parts?.id !== place.job || !state.get().result?.complete);
  if (place.screen === "start") compiler.leave();
  state.set({ ...place, ...(other ? NO_RESULT : {}), problem: null });
  if (other) void compiler.restore();
});

/** Show the start screen, and remember the view of the result for the way back. */
function goStart() {
  const page = state.get();
  const isResult = page.screen === "walk" && page.result?.complete;
  compiler.leave();
  state.set({ screen: "start", problem: null, ...(isResult ? { left: shareable(page) } : {}) });
}
/** Return to the result, with the model and the settings that belong to it. */
function goBack() {
  const { left, parts } = state.get();
  if (!left) return;
  const isHere = parts?.id === left.job;
  compiler.leave();
  state.set({ ...left, ...(isHere ? {} : NO_RESULT), upload: null, inspected: null, left: null, problem: null });
  if (!isHere) void compiler.restore();
}
listen(part(document, "home"), {
  click: (event) => {
    event.preventDefault();
    goStart();
  },
});
listen(part(document, "change"), { click: goStart });
listen(part(document, "halt"), { click: compiler.halt });
listen(part(document, "theme"), { click: toggleTheme });
listen(part(document, "help"), { click: () => openHelp(help, actions.tour) });
listen(part(document, "tour-again"), { click: () => void actions.tour?.() });
listen(part(document, "share"), { click: () => openShare(sharing, state) });

/**
 * @template T
 * @param {Promise<T>} answer
 * @param {(value: T) => void} take
 */
function learn(answer, take) {
  answer.then(take, (problem) => state.set({ problem: asProblem(problem) }));
}
/** Restore the state of the link or URL; B is requested again, since the server evicts old jobs. */
async function restore() {
  if (link && isOfAnotherVersion(link)) noteVersion(link);
  if (link?.other && !state.get().other)
    learn(submitLinked(work.submit, link.other, noteLink), (job) => state.set({ other: job.id }));
  await compiler.restore();
}
if (state.get().screen === "walk") void restore();
