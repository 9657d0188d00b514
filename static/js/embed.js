// Entry point of an embedded view: the state of a short link or, in this site's own pages, of the fragment; read-only.
import { api } from "./server/api.js";
import { createCompiler } from "./jobs/compile.js";
import { part } from "./elements/dom.js";
import { createLayouter } from "./graph/layout.js";
import { keepGraphs, keepNeighbours } from "./jobs/loader.js";
import { keepProfile } from "./jobs/measuring.js";
import { EMPTY } from "./state/page.js";
import { mountEmbed } from "./panes/shell/embed.js";
import { mountOwnView } from "./panes/shell/own_view.js";
import { mountTerms } from "./panes/shell/terms.js";
import { mountWait } from "./panes/passes/wait.js";
import { openedLink } from "./state/shared.js";
import { createState } from "./state/state.js";
import { fromFragment } from "./state/url.js";
import { word } from "./text/words.js";
import { work } from "./server/work.js";

const main = part(document, "main");
const isOwn = main.hasAttribute("data-own");
const { link, problem: ofLink } = openedLink(document);
const fragment = link?.fragment ?? (isOwn ? location.hash : "");
const place = fromFragment(fragment);
const isEmpty = isOwn && !place.model && !place.job;
const problem = isEmpty ? { code: "E-REQUEST-UNKNOWN", message: word("embed.empty") } : ofLink;
/** @type {import("./state/page.js").Page} */
const page = { ...EMPTY, ...place, screen: "walk", problem };
const state = createState(page);
mountTerms(main);
const layouter = createLayouter(
  new URL(document.body.dataset.worker ?? "worker.js", document.baseURI).href,
);
let stop = () => {};
let isWalking = false;

// Findings of other jobs are shown if the server still keeps them.
/** @type {import("./server/api.js").Parts | null} */
let asked = null;
let isKnown = false;
state.watch(["parts"], async ({ parts }) => {
  if (!parts || parts === asked) return;
  asked = parts;
  const { jobs } = await parts.beside().catch(() => ({ jobs: [] }));
  isKnown = true;
  state.set({ beside: jobs });
  show();
});
state.watch(["result"], show);

function show() {
  const canWalk = state.get().result !== null && isKnown;
  if (isWalking && canWalk) return;
  stop();
  isWalking = canWalk;
  stop = isWalking ? mountEmbed(main, state, layouter, isOwn ? work : null) : mountWait(main, state);
  main.querySelector("[data-part=back]")?.remove();
}
keepGraphs(state);
keepNeighbours(state);
keepProfile(state);
api.operators().then(
  ({ operators }) => state.set({ operators: new Map(operators.map((each) => [each.name, each])) }),
  () => {}, // descriptions of operators are optional here
);
if (isOwn) mountOwnView(main, state, fragment);
// An embedded view itself starts only one job: the compilation of its state, unless an equal result is stored.
if (!problem) void createCompiler(state, work.submit).restore();
