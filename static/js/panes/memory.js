// The memory plan of the arena: every buffer, by lifetime and offset.
import { clone, el, listen, part, partOf } from "../elements/dom.js";
import { drawMemory } from "../charts/draw_memory.js";
import { bar, declaredFigure } from "../elements/figures.js";
import { formatBytes, formatCount, formatPercent } from "../text/format.js";
import { createPainter } from "../graph/canvas.js";
import { atFullest, layoutMemory, nextBuffer, rectAt } from "../charts/memory_map.js";
import { workSpaceOf } from "../results/work_space.js";
import { selectValues, selectedBuffers } from "../state/selection.js";
import { together } from "../state/state.js";
import { colors } from "../elements/theme.js";
import { word } from "../text/words.js";
import { mountLaunchOrder } from "./kernels/launch_order.js";
import { arrowOf, pointOn } from "./graph/pointing.js";
import { mountPreview } from "./passes/preview.js";
import { mountTable } from "./shell/table.js";

/**
 * @typedef {import("../wire.js").Buffer} Buffer
 * @typedef {import("../wire.js").StageGraph} StageGraph
 */

/** Maximum number of named buffers of the peak step; the table lists all buffers. */
const MOST_CULPRITS = 8;

/**
 * @param {HTMLElement} root
 * @param {import("../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountMemory(root, state) {
  const { result, parts } = state.get();
  const memory = result?.memory;
  if (!result || !memory) {
    root.replaceChildren(el("p", { class: "pane-empty" }, word(result?.state === "running" ? "code.soon" : "memory.none")));
    return () => {};
  }
  if (memory.buffers.length === 0) {
    root.replaceChildren(el("p", { class: "pane-empty" }, word("memory.no-buffers")));
    return () => {};
  }
  root.replaceChildren(clone("pane-memory"));
  const canvas = partOf(root, "canvas", HTMLCanvasElement);
  const says = part(root, "says");
  /** @type {Set<number>} */
  let selected = new Set();
  let focus = -1;
  /** @type {StageGraph | null} the last graph, whose values the buffers hold */
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
        live: word("memory.live"),
        used: word("memory.used"),
      },
    }),
  );
  const table = mountTable(part(root, "table"), state, {
    name: "memory",
    caption: word("memory.caption"),
    keyOf: (/** @type {Buffer} */ buffer) => String(buffer.buffer),
    onPick: pick,
    originsOf,
    columns: [
      {
        id: "buffer",
        title: word("memory.buffer"),
        cell: (b) => el("button", { class: "link-button mono", type: "button" }, b.name),
        order: (b) => b.name,
        whole: true,
      },
      {
        id: "size",
        title: word("memory.size"),
        cell: (b) => formatBytes(b.size),
        order: (b) => b.size,
        number: true,
      },
      {
        id: "offset",
        title: word("memory.offset"),
        cell: (b) => formatBytes(b.offset),
        order: (b) => b.offset,
        number: true,
      },
      {
        id: "life",
        title: word("memory.life"),
        cell: (b) => `${b.start} – ${b.end}`,
        order: (b) => b.start,
        number: true,
      },
      { title: word("memory.values"), cell: contentOf },
    ],
  });
  table.show(memory.buffers);
  const placesOf = (/** @type {Buffer} */ buffer) => places(memory, buffer);
  part(root, "figures").append(...figures(memory));
  const culprits = atFullest(memory)
    .slice(0, MOST_CULPRITS)
    .map((buffer) => ({ buffer, cells: culprit(buffer, memory, () => pick(buffer)) }));
  part(root, "culprits").append(...culprits.flatMap(({ cells }) => cells));
  part(root, "fullest").textContent = word("memory.fullest", {
    step: memory.fullest_step,
    size: formatBytes(memory.live_peak_bytes),
    n: atFullest(memory).length,
  });
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
          values: contentOf(buffer),
          places: placesOf(buffer),
        })
      : word("memory.point");
  }

  /** Return the values in a buffer, or the launch that works in it. @param {Buffer} buffer */
  function contentOf(buffer) {
    const work = workSpaceOf(buffer, result?.kernels ?? []);
    return work ? word("memory.work-space", work) : buffer.values.join(", ");
  }

  /** Return the ONNX nodes with values in a buffer. @param {Buffer} buffer */
  function originsOf(buffer) {
    return selectValues([last], buffer.values).selection;
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
    for (const { buffer, cells } of culprits)
      cells[0].toggleAttribute("data-selected", selected.has(buffer.buffer));
    painter.repaint();
  }

  const at = (/** @type {MouseEvent} */ event) =>
    rectAt(layoutMemory(memory, painter.size()).rects, pointOn(canvas, event))?.buffer ?? null;
  parts?.graph(result.stages[result.stages.length - 1].graph_stage).then(
    (graph) => {
      last = graph;
      families = new Map(
        graph.nodes.filter(({ inside }) => !inside).flatMap((node) => node.outputs.map((output) => [output, node.family])),
      );
      painter.repaint();
    },
    () => {},
  );

  return together(
    painter.stop,
    mountLaunchOrder(part(root, "order"), memory, state),
    table.stop,
    mountPreview(canvas, state, (event) => {
      const buffer = at(event);
      return buffer ? originsOf(buffer) : [];
    }),
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
        const direction = arrowOf(event);
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
 * Create the row of a live buffer of the peak step: name, bar and share.
 * @param {Buffer} buffer
 * @param {import("../wire.js").Memory} memory
 * @param {() => void} pick
 */
function culprit({ name, size }, memory, pick) {
  const share = size / Math.max(1, memory.live_peak_bytes);
  const button = el("button", { class: "link-button mono", type: "button", title: name }, name);
  button.addEventListener("click", pick);
  const numbers = `${formatBytes(size)}  ${formatPercent(share)}`;
  return [button, bar(share), el("span", { class: "number" }, numbers)];
}

/**
 * Describe the buffers that use the memory of a buffer before and after this buffer.
 * @param {import("../wire.js").Memory} memory
 * @param {Buffer} buffer
 * @returns {string}
 */
function places({ buffers, handovers }, { buffer }) {
  const nameOf = (/** @type {number} */ number) =>
    buffers.find((each) => each.buffer === number)?.name ?? "";
  const named = (/** @type {string} */ key, /** @type {number[]} */ numbers) =>
    numbers.length ? ` ${word(key, { names: numbers.map(nameOf).join(", ") })}` : "";
  const before = handovers.filter((each) => each.after === buffer).map((each) => each.before);
  const after = handovers.filter((each) => each.before === buffer).map((each) => each.after);
  return named("memory.follows", before) + named("memory.followed", after);
}

/**
 * @param {import("../wire.js").Memory} memory
 * @returns {HTMLElement[]}
 */
function figures(memory) {
  const { peak_bytes, live_peak_bytes, over_bound, idle_share, unshared_bytes } = memory;
  return [
    declaredFigure("arena_bytes", peak_bytes),
    declaredFigure("live_peak_bytes", live_peak_bytes),
    declaredFigure("over_bound", over_bound),
    declaredFigure("idle_share", idle_share),
    declaredFigure("unshared_bytes", unshared_bytes),
  ];
}
