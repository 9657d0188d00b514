// The layout engine, off the main thread: Graphviz as WebAssembly, loaded with the first request.
import { Graphviz } from "@hpcc-js/wasm-graphviz";
import { readLayout } from "./dot_layout.js";

/** JSON without drawing operations; missing in the package's list of formats. */
const PLACES_ONLY = /** @type {"json"} */ (/** @type {string} */ ("json0"));

/** @type {ReturnType<typeof Graphviz.load> | null} */
let engine = null;

self.onmessage = async (/** @type {MessageEvent<{id: number, dot: string}>} */ event) => {
  const { id, dot } = event.data;
  try {
    engine ??= Graphviz.load();
    const graphviz = await engine;
    const started = performance.now();
    const layout = readLayout(graphviz.layout(dot, PLACES_ONLY, "dot"));
    self.postMessage({ id, layout, seconds: (performance.now() - started) / 1000 });
  } catch (problem) {
    self.postMessage({ id, problem: problem instanceof Error ? problem.message : String(problem) });
  }
};
