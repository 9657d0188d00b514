// The layout engine in a worker: Graphviz as WebAssembly, loaded with the first request. The layout
// of each level of a drawing is sent as soon as it is ready; layouts are cached.
import { Graphviz } from "@hpcc-js/wasm-graphviz";
import { readLayout } from "./dot_layout.js";
import { layoutNested } from "./nesting.js";

/**
 * @typedef {import("./dot_layout.js").Layout} Layout
 * @typedef {import("./layout.js").Asked} Asked
 */

/** The format JSON without drawing operations, which the types of the package omit. */
const PLACES_ONLY = /** @type {"json"} */ (/** @type {string} */ ("json0"));

/** @type {ReturnType<typeof Graphviz.load> | null} */
let engine = null;

/** A warm-up graph with the features of real drawings: sizes, ports, border points. */
const EXERCISE = `digraph { graph [nodesep=0.25 ranksep=0.4] node [shape=box fixedsize=true label=""] edge [arrowhead=none]
  {rank=min into [shape=point width=0.01]} into -> 0
  ${Array.from({ length: 120 }, (_, i) => `${i} [width=${1 + (i % 3)} height=0.5] ${i} -> ${i + 1} ${i} -> ${i + 3} [tailport=s headport=n]`).join("\n")} }`;

/**
 * Number of warm-up layouts before a model arrives, interleaved with requests. After the model arrives,
 * the optimising compiler of the browser would compete with the page.
 */
const EXERCISES = 4;

/** Layouts by DOT text. @type {Map<string, Layout>} */
const known = new Map();
/** @type {Map<Layout, number>} */
const numbers = new Map();

/** @param {Graphviz} graphviz */
async function exercise(graphviz) {
  for (let turn = 0; turn < EXERCISES && !known.size; turn++) {
    graphviz.layout(EXERCISE, PLACES_ONLY, "dot");
    await new Promise((done) => setTimeout(done));
  }
}

self.onmessage = async (/** @type {MessageEvent<{id: number, asked?: Asked, isEarly?: boolean}>} */ event) => {
  const { id, asked, isEarly } = event.data;
  try {
    engine ??= Graphviz.load();
    const graphviz = await engine;
    if (!asked) return void (isEarly && (await exercise(graphviz)));
    if (asked.afresh) [known, numbers].forEach((each) => each.clear());
    let ms = 0;
    const place = (/** @type {string} */ dot) => {
      const have = known.get(dot);
      if (have) return have;
      const started = performance.now();
      const layout = readLayout(graphviz.layout(dot, PLACES_ONLY, "dot"));
      ms += performance.now() - started;
      known.set(dot, layout);
      numbers.set(layout, numbers.size);
      self.postMessage({ id, layout });
      return layout;
    };
    const found = await layoutNested(asked.union, asked.open, async (dots) => dots.map(place));
    const levels = [...found].map(([key, layout]) => [key, numbers.get(layout)]);
    self.postMessage({ id, levels, seconds: ms / 1000 });
  } catch (problem) {
    self.postMessage({ id, problem: problem instanceof Error ? problem.message : String(problem) });
  }
};
