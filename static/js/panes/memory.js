// The plan of the arena: every buffer over the steps it lives and the bytes it takes.
import { clone, el, listen, part, partOf } from "../dom.js";
import { drawMemory } from "../draw_memory.js";
import { formatBytes, formatCount, formatPercent } from "../format.js";
import { createPainter } from "../graph/canvas.js";
import { layoutMemory, nextBuffer, rectAt } from "../memory_map.js";
import { selectValues, selectedBuffers } from "../selection.js";
import { together } from "../state.js";
import { colors } from "../theme.js";
import { word } from "../words.js";
import { mountTable } from "./table.js";

/**
 * @typedef {import("../wire.js").Buffer} Buffer
 * @typedef {import("../wire.js").StageGraph} StageGraph
 */

const ARROWS = /** @type {const} */ ({
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
});

/**
 * @param {HTMLElement} root
 * @param {import("../page.js").PageState} state
 * @returns {() => void}
 */
export function mountMemory(root, state) {
  const { result, parts } = state.get();
  const memory = result?.memory;
  if (!result || !memory) {
    root.replaceChildren(el("p", { class: "pane-empty" }, word("memory.none")));
    return () => {};
  }
  root.replaceChildren(clone("pane-memory"));
  const canvas = partOf(root, "canvas", HTMLCanvasElement);
  const says = part(root, "says");
  /** @type {Set<number>} */
  let selected = new Set();
  let focus = -1;
  /** @type {StageGraph | null} the graph that the buffers belong to: the last */
  let last = null;
  /** @type {Map<string, string>} */
  let families = new Map();

  const painter = createPainter(canvas, (context, size) =>
    drawMemory(context, size, layoutMemory(memory, size), colors(), {
      selected,
      focus,
      familyOf: (buffer) =>
        buffer.values.map((value) => families.get(value)).find((each) => each !== undefined) ??
        "opaque",
      words: {
        peak: word("memory.peak", { size: formatBytes(memory.peak_bytes) }),
        bound: word("memory.bound", { size: formatBytes(memory.lower_bound_bytes) }),
        steps: word("memory.steps"),
      },
    }),
  );
  const table = mountTable(part(root, "table"), {
    caption: word("memory.caption"),
    keyOf: (/** @type {Buffer} */ buffer) => String(buffer.buffer),
    onPick: pick,
    columns: [
      {
        title: word("memory.buffer"),
        cell: (b) => el("button", { class: "link-button mono", type: "button" }, b.name),
        order: (b) => b.name,
        whole: true,
      },
      {
        title: word("memory.size"),
        cell: (b) => formatBytes(b.size),
        order: (b) => b.size,
        number: true,
      },
      {
        title: word("memory.offset"),
        cell: (b) => formatBytes(b.offset),
        order: (b) => b.offset,
        number: true,
      },
      {
        title: word("memory.life"),
        cell: (b) => `${b.start} – ${b.end}`,
        order: (b) => b.start,
        number: true,
      },
      { title: word("memory.values"), cell: (b) => b.values.join(", ") },
    ],
  });
  table.show(memory.buffers);
  part(root, "figures").append(...figures(memory));
  canvas.setAttribute(
    "aria-label",
    word("memory.describe", { n: memory.buffers.length, peak: formatBytes(memory.peak_bytes) }),
  );
  tell(null);

  function tell(/** @type {Buffer | null} */ buffer) {
    says.classList.toggle("muted", buffer === null);
    says.textContent = buffer
      ? word("memory.says", {
          name: buffer.name,
          size: formatBytes(buffer.size),
          offset: formatCount(buffer.offset),
          start: buffer.start,
          end: buffer.end,
          values: buffer.values.join(", "),
        })
      : word("memory.point");
  }

  function pick(/** @type {Buffer} */ buffer) {
    focus = buffer.buffer;
    state.set(selectValues([last], buffer.values));
    mark(false);
    tell(buffer);
  }

  function mark(/** @type {boolean} */ scroll) {
    const { provenance, selection } = state.get();
    selected = selectedBuffers(provenance, selection);
    if (focus >= 0 && selection.length === 0) selected.add(focus);
    table.mark((buffer) => selected.has(buffer.buffer), scroll);
    painter.repaint();
  }

  const at = (/** @type {MouseEvent} */ event) => {
    const box = canvas.getBoundingClientRect();
    return (
      rectAt(layoutMemory(memory, painter.size()).rects, {
        x: event.clientX - box.left,
        y: event.clientY - box.top,
      })?.buffer ?? null
    );
  };
  parts?.graph(result.stages[result.stages.length - 1].graph_stage).then(
    (graph) => {
      last = graph;
      families = new Map(
        graph.nodes.flatMap((node) => node.outputs.map((output) => [output, node.family])),
      );
      painter.repaint();
    },
    () => {},
  );

  return together(
    painter.stop,
    table.stop,
    listen(canvas, {
      pointermove: (event) => {
        const buffer = at(event);
        canvas.style.cursor = buffer ? "pointer" : "";
        tell(buffer ?? memory.buffers.find((each) => each.buffer === focus) ?? null);
      },
      click: (event) => {
        const buffer = at(event);
        if (buffer) pick(buffer);
      },
      keydown: (event) => {
        const direction = ARROWS[/** @type {keyof typeof ARROWS} */ (event.key)];
        if (!direction) return;
        event.preventDefault();
        const next = memory.buffers.find(
          (each) => each.buffer === nextBuffer(memory, focus, direction),
        );
        if (next) pick(next);
      },
    }),
    state.watch(["selection", "provenance"], () => mark(false)),
  );
}

/**
 * @param {import("../wire.js").Memory} memory
 * @returns {HTMLElement[]}
 */
function figures({ peak_bytes, lower_bound_bytes, buffers }) {
  const total = buffers.reduce((sum, each) => sum + each.size, 0);
  const figure = (/** @type {string} */ key, /** @type {string} */ text) =>
    el("div", { class: "figure-number" }, el("dt", {}, word(key)), el("dd", {}, text));
  return [
    figure("memory.figure-peak", formatBytes(peak_bytes)),
    figure("memory.figure-bound", formatBytes(lower_bound_bytes)),
    figure(
      "memory.figure-over",
      lower_bound_bytes ? formatPercent(peak_bytes / lower_bound_bytes - 1) : "–",
    ),
    figure("memory.figure-total", formatBytes(total)),
  ];
}
