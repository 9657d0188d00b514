// The layout engine, off the main thread: Graphviz as WebAssembly, loaded with the first request.
// Each level of a drawing is sent as soon as it is laid out, and once: what is laid out is kept.
import { Graphviz } from "@hpcc-js/wasm-graphviz";
import { readLayout } from "./dot_layout.js";
import { layoutNested } from "./nesting.js";

/**
 * @typedef {import("./dot_layout.js").Layout} Layout
 * @typedef {import("./layout.js").Asked} Asked
 */

/** JSON without drawing operations; missing in the package's list of formats. */
const PLACES_ONLY = /** @type {"json"} */ (/** @type {string} */ ("json0"));

/** @type {ReturnType<typeof Graphviz.load> | null} */
let engine = null;

/** A ladder: code that has run once runs faster when a model comes. */
const EXERCISE = `digraph { node [shape=box]; ${Array.from({ length: 40 }, (_, i) => `${i}->${i + 1}; ${i}->${i + 3};`).join("")} }`;

/** By DOT. @type {Map<string, Layout>} */
const known = new Map();
/** @type {Map<Layout, number>} */
const numbers = new Map();

self.onmessage = async (/** @type {MessageEvent<{id: number, asked?: Asked}>} */ event) => {
  const { id, asked } = event.data;
  try {
    engine ??= Graphviz.load();
    const graphviz = await engine;
    if (!asked) return void graphviz.layout(EXERCISE, PLACES_ONLY, "dot");
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
