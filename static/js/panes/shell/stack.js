// The selection at all levels: model, graph, kernel, memory and time, then loops, LLVM IR and assembly
// with linked lines.
import { asProblem } from "../../jobs/compile.js";
import { clone, closest, el, listen, part } from "../../elements/dom.js";
import { formatBytes, formatCount, formatPercent, formatSeconds } from "../../text/format.js";
import { LINKED, areLinked, linesFor, loopLine } from "../../text/links.js";
import { whyNone } from "../../results/running.js";
import { stageTitle } from "../../results/stages.js";
import { longest, selectKernel, selectNode, selectedBuffers, selectedIds, shownKernel } from "../../state/selection.js";
import { together } from "../../state/state.js";
import { secondOf } from "../../state/url.js";
import { valueOf } from "../../graph/labels.js";
import { word } from "../../text/words.js";
import { mountCodeLines } from "../kernels/code_lines.js";
import { showProblem } from "./problem.js";

/**
 * @typedef {import("../../state/page.js").Page} Page
 * @typedef {import("../../wire.js").Kernel} Kernel
 * @typedef {import("../../text/links.js").Linked} Linked
 */

/** Maximum number of lines of each text; the panes of the levels show all lines. */
const MOST = 1500;
/** Number of names shown per level. */
const NAMED = 6;
/** Maximum number of further names that can be unfolded. */
const MOST_NAMED = 200;

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountStack(root, state) {
  root.replaceChildren(clone("pane-stack"));
  const chain = part(root, "chain");
  const says = part(root, "says");
  /** @type {import("../../wire.js").KernelLinks | null} */
  let links = null;
  /** @type {Kernel | null} */
  let kernel = null;
  let pointed = -1;
  let request = 0;

  const lines = Object.fromEntries(
    LINKED.map((name) => [
      name,
      {
        n: 0,
        box: part(root, name),
        list: mountCodeLines(part(root, name), name, word(`pane.${name}`), {
          pick: (line) => pin(loopLine(links, name, line)),
          point: (line) => preview(line < 0 ? -1 : loopLine(links, name, line), name),
        }),
      },
    ]),
  );

  function pin(/** @type {number} */ loop) {
    if (!kernel) return;
    const line = loop < 0 ? "" : `${kernel.kernel}:${loop}`;
    state.set({ ...selectKernel(kernel), line: line === state.get().line ? "" : line });
  }

  function preview(/** @type {number} */ loop, /** @type {Linked} */ from) {
    if (loop === pointed) return;
    pointed = loop;
    state.set({ preview: loop >= 0 && kernel ? kernel.origins : [] });
    mark(from);
  }

  function mark(/** @type {Linked | ""} */ from) {
    if (part(root, "texts").hidden) return; // the pane shows the reason for missing lines
    const pinned = kernel ? secondOf(state.get().line, kernel.kernel) : -1;
    const counts = LINKED.map((name) => {
      const { list, n } = lines[name];
      const pins = linesFor(links, name, pinned, n);
      const points = linesFor(links, name, pointed, n);
      list.mark(pins, points, name !== from);
      return (pointed >= 0 ? points : pins).size;
    });
    const shown = pointed >= 0 ? pointed : pinned;
    says.textContent =
      shown < 0
        ? word(links?.asm.length ? "stack.point" : "stack.no-links")
        : word(counts[1] + counts[2] ? "stack.says" : "stack.written-out", { line: shown + 1, llvm: countLines(counts[1]), asm: countLines(counts[2]) });
  }

  async function load() {
    const number = ++request;
    const page = state.get();
    const { parts, result } = page;
    kernel = result && (shownKernel(result, page) ?? longest(result.kernels));
    chain.replaceChildren(...(kernel ? chainOf(page, kernel) : []));
    part(root, "texts").hidden = !kernel?.native || !kernel.parts.includes("llvm");
    if (!parts || !kernel || part(root, "texts").hidden) {
      says.textContent = kernel ? kernel.words : result ? word(whyNone(result)) : "";
      return;
    }
    const wanted = kernel;
    /** @param {Promise<any>} answer */
    const orNothing = (answer) => answer.catch(() => null);
    try {
      const [found, ...texts] = await Promise.all([
        areLinked(page) ? orNothing(parts.links(wanted.kernel)) : null,
        ...LINKED.map((name) =>
          wanted.parts.includes(name) ? orNothing(parts.kernel(wanted.kernel, name)) : null,
        ),
      ]);
      if (number !== request) return;
      links = found;
      LINKED.forEach((name, i) => {
        const text = texts[i]?.text.split("\n").slice(0, MOST).join("\n") ?? missing(wanted, name);
        lines[name].n = lines[name].list.show(text);
        part(root, `${name}-count`).textContent = texts[i] ? countLines(texts[i].n_lines) : "";
      });
      mark("");
    } catch (problem) {
      if (number === request) showProblem(says, asProblem(problem));
    }
  }

  return together(
    () => (request += 1),
    () => state.set({ preview: [] }),
    ...LINKED.map((name) => lines[name].list.stop),
    listen(root, {
      click: (event) => {
        const data = closest(event, "button")?.dataset;
        if (data) follow(state, data);
      },
    }),
    listen(chain, {
      pointerover: (event) => {
        const origins = closest(event, "[data-origins]")?.dataset.origins;
        state.set({ preview: origins ? JSON.parse(origins) : [] });
      },
      pointerleave: () => state.set({ preview: [] }),
    }),
    state.watch(["parts", "result", "ready", "kernel", "selection", "at", "graph", "provenance"], () => void load()),
    state.watch(["line"], () => mark("")),
  );
}

/**
 * Return the message for a missing text; control-flow nodes never have loops.
 * @param {Kernel} kernel
 * @param {Linked} name
 */
function missing({ native, parts }, name) {
  return word(native && name === "loops" && !parts.includes(name) ? "stack.no-loops" : "code.soon");
}

/**
 * Handle a button of the chain.
 * @param {import("../../state/page.js").PageState} state
 * @param {DOMStringMap} data
 */
function follow(state, { origin, node, kernel, stage, pane }) {
  const { graph, before, result } = state.get();
  const found = [...(graph?.nodes ?? []), ...(before?.nodes ?? [])].find((each) => each.id === node);
  const chosen = result?.kernels.find((each) => String(each.kernel) === kernel);
  state.set({
    ...(origin !== undefined ? { selection: [origin], at: "", kernel: -1, line: "" } : {}),
    ...(found ? selectNode(found) : {}),
    ...(chosen ? selectKernel(chosen) : {}),
    ...(stage !== undefined ? { stage: Number(stage) } : {}),
    ...(pane !== undefined ? { pane } : {}),
  });
}

/**
 * Return the levels above the code, each with the selected items.
 * @param {Page} page
 * @param {Kernel} kernel
 * @returns {HTMLElement[]}
 */
function chainOf(page, kernel) {
  const { result, provenance, graph, stage } = page;
  const origins = page.selection.length ? page.selection : kernel.origins;
  const followed = (provenance?.onnx ?? []).filter((each) => origins.includes(each.name));
  const operators = new Map(followed.map((each) => [each.name, each.op]));
  const ids = [...selectedIds(graph?.nodes ?? [], { selection: origins, at: page.at })];
  const kernels = (result?.kernels ?? []).filter(
    (each) => each.kernel === kernel.kernel || each.origins.some((one) => origins.includes(one)),
  );
  const buffers = selectedBuffers(provenance, origins);
  const total = (result?.kernels ?? []).reduce((sum, each) => sum + (each.median_s ?? 0), 0);
  const seconds = kernels.reduce((sum, each) => sum + (each.median_s ?? 0), 0);
  const timed = kernels.some((each) => each.median_s !== null);
  return [
    level(
      "model",
      origins.map((name) =>
        chip(name, operators.get(name) ?? "", { origin: name }, [name]),
      ),
    ),
    level(
      "graph",
      ids.map((id) => {
        const node = graph?.nodes.find((each) => each.id === id);
        return chip(node ? valueOf(node) : id, node?.op ?? "", { node: id }, node?.origins ?? []);
      }),
      word("stack.at-stage", { stage: stageTitle(result?.stages[stage]) }),
    ),
    level(
      "kernel",
      kernels.map((each) =>
        chip(each.name, each.native ? "" : word("kernel.fallback"), { kernel: String(each.kernel) }, each.origins, each.kernel === kernel.kernel),
      ),
      // Kernels with equal code share a function, so its name differs from most of them.
      kernel.function && kernel.function !== kernel.name ? word("stack.function", { name: kernel.function }) : "",
    ),
    level(
      "memory",
      (result?.memory?.buffers ?? [])
        .filter((each) => buffers.has(each.buffer))
        .map((each) =>
          chip(
            each.name,
            word("stack.buffer", { size: formatBytes(each.size), offset: formatBytes(each.offset) }),
            { pane: "memory" },
            origins,
          ),
        ),
    ),
    level(
      "time",
      timed
        ? [chip(formatSeconds(seconds), word("stack.share", { share: formatPercent(total ? seconds / total : 0) }), { pane: "timing" }, origins)]
        : [],
      timed ? "" : word("stack.not-measured"),
    ),
  ];
}

/**
 * @param {string} name
 * @param {HTMLElement[]} chips
 * @param {string} [note]
 */
function level(name, chips, note = "") {
  // The kernel whose code is shown comes first among the selected kernels.
  const named = [...chips].sort((a, b) => Number(b.ariaCurrent === "true") - Number(a.ariaCurrent === "true"));
  return el(
    "li",
    { class: "stack-level", "data-level": name },
    el("span", { class: "stack-name" }, word(`stack.${name}`)),
    el(
      "span",
      { class: "stack-chips" },
      ...named.slice(0, NAMED),
      chips.length > NAMED ? others(named.slice(NAMED)) : null,
      chips.length === 0 && !note ? el("span", { class: "muted" }, word("stack.nothing")) : null,
      note ? el("span", { class: "muted" }, note) : null,
    ),
  );
}

/** @param {HTMLElement[]} chips further items of a level, folded */
function others(chips) {
  const left = chips.length - MOST_NAMED;
  return el(
    "details",
    { class: "stack-others" },
    el("summary", {}, word("n-more", { n: chips.length })),
    el(
      "span",
      { class: "stack-chips" },
      ...chips.slice(0, MOST_NAMED),
      left > 0 ? el("span", { class: "muted" }, word("n-more", { n: left })) : null,
    ),
  );
}

/**
 * @param {string} text
 * @param {string} detail
 * @param {Record<string, string>} data effect of a click
 * @param {string[]} origins ONNX nodes to preview
 * @param {boolean} [here]
 */
function chip(text, detail, data, origins, here = false) {
  const button = el(
    "button",
    { class: "stack-chip", type: "button", "aria-current": here ? "true" : null },
    el("span", { class: "mono" }, text),
    detail ? el("span", { class: "muted" }, detail) : null,
  );
  Object.assign(button.dataset, data, { origins: JSON.stringify(origins) });
  return button;
}

/** @param {number} n */
function countLines(n) {
  return word("code.lines", { n, count: formatCount(n) });
}
