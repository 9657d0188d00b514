// The interactive Gantt chart: pointer, keyboard, zoom.
import { listen, part, partOf } from "../../elements/dom.js";
import { drawGantt } from "../../charts/draw_gantt.js";
import { formatBytes, formatSeconds } from "../../text/format.js";
import {
  WHOLE,
  activityAt,
  broughtIntoView,
  heightOf,
  layoutGantt,
  nextActivity,
  nextCritical,
  shifted,
  zoomed,
} from "../../charts/gantt_map.js";
import { createPainter } from "../../graph/canvas.js";
import { together } from "../../state/state.js";
import { colors } from "../../elements/theme.js";
import { word } from "../../text/words.js";
import { arrowOf, pointOn, showTip } from "../graph/pointing.js";
import { mountPreview } from "../passes/preview.js";

/**
 * @typedef {import("../../charts/gantt_map.js").Activity} Activity
 * @typedef {import("../../charts/gantt_map.js").Chart} Chart
 * @typedef {import("../../charts/gantt_map.js").Span} Span
 */

const CLOSER = 0.6;
const STEP = 0.25;

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 */
export function mountGantt(root, state) {
  const canvas = partOf(root, "canvas", HTMLCanvasElement);
  const figure = part(root, "figure");
  const tip = part(root, "tip");
  const says = part(root, "says");
  /** @type {Chart} */
  let chart = { rows: [], stores: [], activities: [], path: [], whole: 0, bound: 0 };
  let focus = -1;
  /** @type {Map<string, string>} */
  let families = new Map();
  /** @type {{x: number, span: Span} | null} start of a drag */
  let drag = null;

  const painter = createPainter(canvas, (context, size) =>
    drawGantt(context, size, layoutGantt(chart, state.get().span, size), colors(), {
      selected: new Set(chart.activities.filter(isSelected).map((each) => each.task)),
      focus,
      familyOf: (task) => families.get(task) ?? "opaque",
      words: {
        bound: word("devices.bound-line"),
        room: ({ room }) =>
          room === null ? "" : word("devices.room", { room: formatBytes(room) }),
      },
    }),
  );

  /** @param {Activity} activity */
  function isSelected({ task, origins }) {
    const { selection, at } = state.get();
    return task === at || origins.some((origin) => selection.includes(origin));
  }

  /** @param {Activity} activity */
  function pick(activity) {
    focus = activity.number;
    state.set({
      selection: activity.origins,
      at: activity.task,
      kernel: -1,
      span: broughtIntoView(chart, state.get().span, activity),
    });
    tell();
    painter.repaint();
  }

  const focused = () => chart.activities[focus] ?? null;

  function tell() {
    const activity = focused();
    says.classList.toggle("muted", activity === null);
    says.textContent = activity ? sentence(activity) : word("devices.point");
  }

  const change = (/** @type {Span} */ span) => state.set({ span });
  const acts = {
    wider: () => change(zoomed(state.get().span, 1 / CLOSER)),
    closer: () => change(zoomed(state.get().span, CLOSER, placeOfFocus())),
    whole: () => change(WHOLE),
    earlier: () => change(shifted(state.get().span, -STEP * widthOf(state.get().span))),
    later: () => change(shifted(state.get().span, STEP * widthOf(state.get().span))),
  };

  /** Return the position of the activity in focus, which zooming keeps fixed. */
  function placeOfFocus() {
    const [from, to] = state.get().span;
    const activity = focused();
    if (!activity) return 0.5;
    const at = ((activity.start + activity.end) / 2 / (chart.whole || 1) - from) / (to - from);
    return Math.min(1, Math.max(0, at));
  }

  /** @type {Record<string, () => void>} */
  const keys = {
    "+": acts.closer,
    "=": acts.closer,
    "-": acts.wider,
    0: acts.whole,
    ",": acts.earlier,
    ".": acts.later,
    n: () => go(nextCritical(chart, focused(), 1)),
    p: () => go(nextCritical(chart, focused(), -1)),
  };

  /** @param {Activity | null} activity */
  function go(activity) {
    if (activity) pick(activity);
  }

  const point = (/** @type {MouseEvent} */ event) => pointOn(canvas, event);
  const map = () => layoutGantt(chart, state.get().span, painter.size());

  /** @param {PointerEvent} event */
  function onMove(event) {
    const at = point(event);
    if (drag && event.buttons) {
      const { plot } = map();
      const by = ((drag.x - at.x) / (plot.right - plot.left)) * widthOf(drag.span);
      if (Math.abs(drag.x - at.x) > 3) change(shifted(drag.span, by));
    }
    const activity = activityAt(map(), at);
    canvas.style.cursor = activity ? "pointer" : "";
    showTip(tip, figure, at, activity ? sentence(activity) : "");
  }

  parts().then((graph) => {
    families = new Map(graph?.nodes.map((node) => [node.id, node.family]));
    painter.repaint();
  });

  async function parts() {
    const { result, parts: answers } = state.get();
    const last = result?.stages[result.stages.length - 1].graph_stage;
    return last === undefined ? null : (answers?.graph(last) ?? null);
  }

  tell();
  return {
    pick,
    isSelected,
    /** @param {Chart} next */
    show(next) {
      chart = next;
      focus = chart.activities.findIndex((each) => each.task === state.get().at);
      figure.style.height = `${heightOf(chart)}px`;
      canvas.setAttribute(
        "aria-label",
        word("devices.describe", {
          n: chart.activities.filter((each) => each.kind === "task").length,
          moves: word("devices.transfers", { n: chart.activities.filter((each) => each.kind === "move").length }),
          time: formatSeconds(chart.whole),
        }),
      );
      tell();
      painter.repaint();
    },
    stop: together(
      painter.stop,
      ...Object.entries(acts).map(([name, act]) => listen(part(root, name), { click: act })),
      mountPreview(canvas, state, (event) => activityAt(map(), point(event))?.origins ?? []),
      listen(canvas, {
        pointermove: onMove,
        pointerleave: () => {
          tip.hidden = true;
        },
        pointerdown: (event) => {
          drag = { x: point(event).x, span: state.get().span };
        },
        click: (event) => {
          const moved = drag && Math.abs(drag.x - point(event).x) > 3;
          drag = null;
          if (!moved) go(activityAt(map(), point(event)));
        },
        wheel: (event) => {
          if (!event.ctrlKey && !event.metaKey) return;
          event.preventDefault();
          const { plot } = map();
          const at = (point(event).x - plot.left) / (plot.right - plot.left);
          change(zoomed(state.get().span, event.deltaY < 0 ? CLOSER : 1 / CLOSER, at));
        },
        keydown: (event) => {
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          const direction = arrowOf(event);
          const act = direction
            ? () => go(nextActivity(chart, focused(), direction))
            : keys[event.key];
          if (!act) return;
          event.preventDefault();
          act();
        },
      }),
      state.watch(["span"], ({ span: [from, to] }) => {
        // Disable buttons without effect.
        const is = { earlier: from > 0, later: to < 1, wider: from > 0 || to < 1, whole: from > 0 || to < 1 };
        for (const [name, can] of Object.entries(is)) partOf(root, name, HTMLButtonElement).disabled = !can;
      }),
      state.watch(["selection", "at", "span"], ({ at }) => {
        if (focused() && focused()?.task !== at) focus = -1;
        tell();
        painter.repaint();
      }),
    ),
  };
}

/** @param {Span} span */
function widthOf([from, to]) {
  return to - from;
}

/** @param {Activity} activity */
function sentence({ kind, name, on, way, nbytes, start, end, critical }) {
  const values = {
    name,
    on,
    way,
    size: formatBytes(nbytes),
    start: formatSeconds(start),
    end: formatSeconds(end),
    takes: formatSeconds(end - start),
  };
  const text = word(kind === "task" ? "devices.says-task" : "devices.says-move", values);
  return critical ? `${text} ${word("devices.says-critical")}` : text;
}
