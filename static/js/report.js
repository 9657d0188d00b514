// Entry point of a report: the walk over answers embedded in the file, without a server.
import { createParts, keepAnswers } from "./server/api.js";
import { LINKED } from "./jobs/beside.js";
import { asProblem } from "./jobs/compile.js";
import { el, listen, part } from "./elements/dom.js";
import { createLayouter } from "./graph/layout.js";
import { headline } from "./text/headline.js";
import { bindKeys } from "./elements/keys.js";
import { keepGraphs } from "./jobs/loader.js";
import { keepProfile } from "./jobs/measuring.js";
import { EMPTY } from "./state/page.js";
import { openAbout } from "./panes/shell/about_report.js";
import { openHelp } from "./panes/shell/help.js";
import { mountTerms } from "./panes/shell/terms.js";
import { showProblem } from "./panes/shell/problem.js";
import { mountWalk } from "./panes/passes/walk.js";
import { clampStage } from "./results/stages.js";
import { createState } from "./state/state.js";
import { startTheme, toggleTheme } from "./elements/theme.js";
import { PLACE_KEYS, fromFragment, toFragment } from "./state/url.js";
import { word } from "./text/words.js";

const JOB = "report";

/** @param {string} id id of the element with the compressed text */
async function unpacked(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id)?.textContent ?? ""), (c) =>
    c.charCodeAt(0),
  );
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

startTheme();
const main = part(document, "main");
mountTerms(main);
open().catch((problem) => {
  const box = el("div", { class: "problem", role: "alert" });
  const { message } = asProblem(problem);
  showProblem(box, {
    code: "E-PAGE",
    message: word("report.unreadable", { why: message }),
    hint: word("report.unreadable-hint"),
  });
  main.replaceChildren(box);
});

/** Mount the walk over the answers in the file. Errors: the errors of reading the file. */
async function open() {
  const about = JSON.parse(document.getElementById("report")?.textContent ?? "{}");
  const [answers, engine] = await Promise.all([unpacked("answers").then(JSON.parse), unpacked("engine")]);
  keepAnswers(JOB, answers);
  const parts = createParts(JOB);
  const result = await parts.result();
  const place = fromFragment(location.hash || about.fragment);
  /** @type {import("./wire.js").Job[]} */
  const beside = answers.beside?.jobs ?? [];
  /** @type {import("./state/page.js").Page} */
  const page = {
    ...EMPTY,
    ...place,
    // A report contains the findings of the other jobs that existed at its creation, under their original ids.
    measured: place.measured && LINKED,
    check: beside.some(({ kind }) => kind === "check") ? LINKED : "",
    beside,
    screen: "walk",
    job: JOB,
    stage: clampStage(result.stages, place.stage),
    parts,
    result,
    ready: ["code", "measure", "listing", "check", "links"],
    provenance: answers.provenance ?? null,
    neighbours: answers.neighbours ?? null,
  };
  const state = createState(page);
  const layouter = createLayouter(
    URL.createObjectURL(new Blob([engine], { type: "text/javascript" })),
    "classic",
  );
  const help = /** @type {HTMLDialogElement} */ (document.getElementById("help-dialog"));
  const facts = /** @type {HTMLDialogElement} */ (document.getElementById("about-dialog"));
  const says = part(document, "headline");
  says.textContent = says.title = headline(result);
  const walk = mountWalk(main, state, layouter);
  keepGraphs(state);
  keepProfile(state);
  /** @type {Record<string, () => boolean | void>} */
  const actions = { ...walk.actions, theme: toggleTheme, help: () => openHelp(help, walk.actions.tour) };
  bindKeys(() => "walk", actions);
  listen(part(document, "theme"), { click: toggleTheme });
  listen(part(document, "help"), { click: () => openHelp(help, walk.actions.tour) });
  listen(part(document, "about"), { click: () => openAbout(facts, about, result) });
  state.watch(PLACE_KEYS, (now) =>
    history.replaceState(null, "", `#${toFragment({ ...now, job: "" })}`),
  );
}
