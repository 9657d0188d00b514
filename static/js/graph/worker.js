// The layout engine, off the main thread: Graphviz as WebAssembly, loaded with the first request.
import { Graphviz } from "@hpcc-js/wasm-graphviz";
import { readLayout } from "./dot_layout.js";

/** JSON without drawing operations; missing in the package's list of formats. */
const PLACES_ONLY = /** @type {"json"} */ (/** @type {string} */ ("json0"));

/** @type {ReturnType<typeof Graphviz.load> | null} */
let engine = null;

/** A ladder: code that has run once runs faster when a model comes. */
const EXERCISE = `digraph { node [shape=box]; ${Array.from({ length: 40 }, (_, i) => `${i}->${i + 1}; ${i}->${i + 3};`).join("")} }`;

self.onmessage = async (/** @type {MessageEvent<{id: number, dots?: string[]}>} */ event) => {
  const { id, dots } = event.data;
  try {
    engine ??= Graphviz.load();
    const graphviz = await engine;
    if (dots === undefined) return void graphviz.layout(EXERCISE, PLACES_ONLY, "dot");
    const started = performance.now();
    const layouts = dots.map((dot) => readLayout(graphviz.layout(dot, PLACES_ONLY, "dot")));
    self.postMessage({ id, layouts, seconds: (performance.now() - started) / 1000 });
  } catch (problem) {
    self.postMessage({ id, problem: problem instanceof Error ? problem.message : String(problem) });
  }
};
