// Entry point of an embedded view: the state of a short link, read-only.
import { api } from "./server/api.js";
import { createCompiler } from "./jobs/compile.js";
import { part } from "./elements/dom.js";
import { createLayouter } from "./graph/layout.js";
import { keepGraphs, keepNeighbours } from "./jobs/loader.js";
import { keepProfile } from "./jobs/measuring.js";
import { EMPTY } from "./state/page.js";
import { mountEmbed } from "./panes/shell/embed.js";
import { mountTerms } from "./panes/shell/terms.js";
import { mountWait } from "./panes/passes/wait.js";
import { openedLink } from "./state/shared.js";
import { createState } from "./state/state.js";
import { fromFragment } from "./state/url.js";
import { work } from "./server/work.js";

const { link, problem } = openedLink(document);
const place = fromFragment(link?.fragment ?? "");
/** @type {import("./state/page.js").Page} */
const page = { ...EMPTY, ...place, screen: "walk", problem };
const state = createState(page);
const main = part(document, "main");
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
  stop = isWalking ? mountEmbed(main, state, layouter) : mountWait(main, state);
  main.querySelector("[data-part=back]")?.remove();
}
keepGraphs(state);
keepNeighbours(state);
keepProfile(state);
api.operators().then(
  ({ operators }) => state.set({ operators: new Map(operators.map((each) => [each.name, each])) }),
  () => {}, // descriptions of operators are optional here
);
// An embedded view starts only one job: the linked compilation, if its result was evicted.
if (link) void createCompiler(state, work.submit).restore();
