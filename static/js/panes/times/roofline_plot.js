// The interactive roofline plot: pointer and keyboard.
import { listen, part, partOf } from "../../elements/dom.js";
import { drawRoofline } from "../../charts/draw_roofline.js";
import { formatBytes, formatPercent, formatRate, formatRatio } from "../../text/format.js";
import { createPainter } from "../../graph/canvas.js";
import { familyOfKernel } from "../../elements/families.js";
import { layoutRoofline, nextByTime, nextSpot, spotAt } from "../../charts/roofline_map.js";
import { selectKernel } from "../../state/selection.js";
import { together } from "../../state/state.js";
import { colors } from "../../elements/theme.js";
import { word } from "../../text/words.js";
import { timeWithInterval } from "./measuring.js";
import { arrowOf, pointOn, showTip } from "../graph/pointing.js";

/**
 * @typedef {import("../../charts/roofline_map.js").Spot} Spot
 * @typedef {import("../../charts/roofline_map.js").Ceiling} Ceiling
 */

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {Spot[]} spots
 * @param {Ceiling[]} ceilings
 */
export function mountRooflinePlot(root, state, spots, ceilings) {
  const canvas = partOf(root, "canvas", HTMLCanvasElement);
  const box = part(root, "figure");
  const tip = part(root, "tip");
  const says = part(root, "says");
  /** @type {Spot | null} */
  let focus = null;

  const map = () => layoutRoofline(spots, ceilings, painter.size());
  const painter = createPainter(canvas, (context, size) =>
    drawRoofline(context, size, layoutRoofline(spots, ceilings, size), colors(), {
      focus: focus?.times.kernel ?? -1,
      isSelected,
      familyOf: ({ kernel }) => familyOfKernel(kernel),
      nameOf,
      words: { x: word("roofline.x"), y: word("roofline.y") },
    }),
  );

  /** @param {Spot} spot */
  function isSelected({ kernel }) {
    const { selection, kernel: chosen } = state.get();
    if (chosen >= 0) return kernel.kernel === chosen;
    return kernel.origins.some((origin) => selection.includes(origin));
  }

  /** @param {Spot | null} spot */
  function pick(spot) {
    if (!spot) return;
    focus = spot;
    state.set(selectKernel(spot.kernel));
    tell();
  }

  function tell() {
    says.classList.toggle("muted", focus === null);
    says.textContent = focus ? sentence(focus) : word("roofline.point");
    painter.repaint();
  }

  const point = (/** @type {MouseEvent} */ event) => pointOn(canvas, event);

  /** @param {PointerEvent} event */
  function onMove(event) {
    const at = point(event);
    const spot = spotAt(map(), at);
    canvas.style.cursor = spot ? "pointer" : "";
    state.set({ preview: spot?.kernel.origins ?? [] });
    showTip(tip, box, at, spot ? sentence(spot) : "");
  }

  canvas.setAttribute("aria-label", word("roofline.describe", { n: spots.length }));
  return {
    pick,
    isSelected,
    stop: together(
      painter.stop,
      () => state.set({ preview: [] }),
      listen(canvas, {
        pointermove: onMove,
        pointerleave: () => {
          tip.hidden = true;
          state.set({ preview: [] });
        },
        click: (event) => pick(spotAt(map(), point(event))),
        keydown: (event) => {
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          const direction = arrowOf(event);
          /** @type {1 | -1 | undefined} */
          const by = event.key === "n" ? 1 : event.key === "p" ? -1 : undefined;
          const next = by
            ? nextByTime(spots, focus, by)
            : direction && nextSpot(spots, focus, direction);
          if (next === undefined) return;
          event.preventDefault();
          pick(next);
        },
      }),
      state.watch(["selection", "kernel"], ({ kernel }) => {
        if (kernel >= 0) focus = spots.find((each) => each.kernel.kernel === kernel) ?? null;
        else if (focus && !isSelected(focus)) focus = null;
        tell();
      }),
    ),
  };
}

/** @param {Ceiling} ceiling */
function nameOf({ kind, name, speed }) {
  if (kind === "compute") return `${word(`unit.${name}`)} ${formatRate(speed)}`;
  return `${name} ${formatBytes(speed)}/s`;
}

/**
 * List a kernel's bytes by memory level: "20 kB in L2, 5 kB in L1".
 * @param {import("../../wire.js").KernelTimes} times
 */
export function levelsText({ bytes, traffic }) {
  const levels = Object.entries(traffic).map(([level, n]) => word("roofline.level", { bytes: formatBytes(n), level }));
  return levels.length ? levels.join(", ") : formatBytes(bytes);
}

/** @param {Spot} spot */
function sentence({ kernel, times, intensity, rate, low, high, ceiling, reached, tiny }) {
  const values = {
    name: kernel.name,
    intensity: formatRatio(intensity),
    rate: formatRate(rate),
    low: formatRate(low),
    high: formatRate(high),
    time: timeWithInterval(times),
  };
  return [
    word("roofline.says", values),
    ceiling === null || reached === null
      ? ""
      : word("roofline.says-reached", { share: formatPercent(reached), ceiling: formatRate(ceiling) }),
    times.bound
      ? word("roofline.says-bound", {
          bound: word(`bound.${times.bound}`),
          levels: levelsText(times),
        })
      : "",
    tiny ? word("roofline.says-overhead") : "",
    times.fewer_products ? word("roofline.says-fewer") : "",
  ]
    .filter(Boolean)
    .join(" ");
}
