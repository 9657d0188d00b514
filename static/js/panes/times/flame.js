// The interactive flame chart: pointer, keyboard, zoom.
import { el, listen, part, partOf } from "../../elements/dom.js";
import { drawFlame } from "../../charts/draw_flame.js";
import {
  ROW,
  find,
  flameAt,
  largestOf,
  layoutFlame,
  nextFlame,
  nextSlowest,
  pathTo,
  rowsOf,
} from "../../charts/flame_map.js";
import { formatPercent, formatSeconds } from "../../text/format.js";
import { createPainter } from "../../graph/canvas.js";
import { selectKernel } from "../../state/selection.js";
import { together } from "../../state/state.js";
import { colors } from "../../elements/theme.js";
import { word } from "../../text/words.js";
import { timeWithInterval } from "./measuring.js";
import { arrowOf, pointOn, showTip } from "../graph/pointing.js";

/**
 * @typedef {import("../../charts/flame_map.js").Flame} Flame
 * @typedef {import("../../wire.js").Profile} Profile
 */

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 */
export function mountFlame(root, state) {
  const canvas = partOf(root, "canvas", HTMLCanvasElement);
  const box = part(root, "figure");
  const tip = part(root, "tip");
  const says = part(root, "says");
  const path = part(root, "path");
  /** @type {Flame | null} */
  let whole = null;
  /** @type {Profile | null} */
  let profile = null;
  /** @type {Flame | null} */
  let focus = null;

  const within = () => (whole ? find(whole, state.get().within) : null);
  const boxes = () => {
    const part_ = within();
    return part_ ? layoutFlame(part_, painter.size()) : [];
  };
  const painter = createPainter(canvas, (context, size) =>
    drawFlame(context, size, boxes(), colors(), {
      focus: focus?.key ?? "",
      isSelected,
      textOf: ({ name, kind, share }) =>
        kind === "kernel" && share < 1 ? `${name} · ${formatPercent(share)}` : name,
    }),
  );

  /** @param {Flame} flame */
  function isSelected(flame) {
    const { selection, kernel } = state.get();
    if (flame.kind === "kernel" && kernel >= 0) return flame.kernel === kernel;
    return (
      selection.length > 0 &&
      flame.origins.length > 0 &&
      flame.origins.every((origin) => selection.includes(origin))
    );
  }

  /** Choose a part; zoom into the part if it is already chosen. @param {Flame} flame */
  function pick(flame) {
    if (flame === focus && flame.children.length && flame !== within()) return lookInto(flame);
    focus = flame;
    const kernel = state.get().result?.kernels[flame.kernel];
    if (kernel) state.set(selectKernel(kernel));
    else state.set({ selection: flame.kind === "run" ? [] : flame.origins, at: "", kernel: -1, line: "" });
    show();
  }

  /** @param {Flame | null | undefined} flame */
  function lookInto(flame) {
    if (!flame) return;
    const into = flame.children.length ? flame : flame.parent;
    focus = flame;
    state.set({ within: into?.key ?? "" });
  }

  /** Move to a part, zooming out until it is visible. @param {Flame | null} flame */
  function walk(flame) {
    if (!flame) return;
    const around = within();
    if (around && !pathTo(flame).includes(around)) state.set({ within: flame.parent?.key ?? "" });
    focus = null;
    pick(flame);
  }

  /** Describe a kernel that was chosen in another view, such as the table below. */
  function follow() {
    const { kernel } = state.get();
    if (whole && kernel >= 0 && focus?.kernel !== kernel) focus = largestOf(whole, kernel) ?? focus;
    show();
  }

  function show() {
    says.classList.toggle("muted", focus === null);
    says.textContent = focus ? sentence(focus) : word("profile.point");
    const at = within();
    const around = at ? pathTo(at) : [];
    path.replaceChildren(
      ...around.flatMap((each, i) => {
        const name = `${each.name} ${formatSeconds(each.seconds)}`;
        if (i === around.length - 1) return [el("strong", { "aria-current": "true" }, name)];
        const button = el("button", { type: "button", class: "link-button" }, name);
        button.addEventListener("click", () => lookInto(each));
        return [button, el("span", { "aria-hidden": "true" }, "›")];
      }),
    );
    if (at) box.style.height = `${rowsOf(at) * ROW}px`;
    canvas.dataset.within = at?.name ?? "";
    painter.repaint();
  }

  /** @param {Flame} flame */
  function sentence(flame) {
    const share = formatPercent(flame.seconds / (whole?.seconds || 1));
    const times = profile?.kernels.find((each) => each.kernel === flame.kernel);
    if (flame.kind !== "kernel" || !times)
      return word("profile.says-part", { name: flame.name, time: formatSeconds(flame.seconds), share });
    const split = { part: formatPercent(flame.share), origin: flame.parent?.name ?? "" };
    const least = {
      least: formatSeconds(times.predicted_s ?? 0),
      bound: times.bound && word(`bound.${times.bound}`),
    };
    return [
      word("profile.says-part", { name: flame.name, time: timeWithInterval(times), share: formatPercent(times.share) }),
      flame.share < 1 ? word("profile.says-split", split) : "",
      times.predicted_s === null ? "" : word("profile.says-bound", least),
    ]
      .filter(Boolean)
      .join(" ");
  }

  const point = (/** @type {MouseEvent} */ event) => pointOn(canvas, event);

  /** @param {PointerEvent} event */
  function onMove(event) {
    const at = point(event);
    const flame = flameAt(boxes(), at);
    canvas.style.cursor = flame ? "pointer" : "";
    state.set({ preview: flame && flame.kind !== "run" ? flame.origins : [] });
    showTip(tip, box, at, flame ? sentence(flame) : "");
  }

  /** @type {Record<string, () => void>} */
  const keys = {
    Enter: () => lookInto(focus),
    Backspace: () => lookInto(within()?.parent),
    Escape: () => lookInto(whole),
    0: () => lookInto(whole),
    n: () => walk(slowest(1)),
    p: () => walk(slowest(-1)),
  };

  /** @param {1 | -1} by */
  function slowest(by) {
    const at = within();
    return at && nextSlowest(at, focus, by);
  }

  return {
    /** @param {Flame} next @param {Profile} of */
    show(next, of) {
      [whole, profile] = [next, of];
      focus = focus && find(next, focus.key);
      if (focus === next) focus = null;
      canvas.setAttribute(
        "aria-label",
        word("profile.describe", { n: of.kernels.length, time: formatSeconds(next.seconds) }),
      );
      follow();
    },
    stop: together(
      painter.stop,
      () => state.set({ preview: [] }),
      listen(canvas, {
        pointermove: onMove,
        pointerleave: () => {
          tip.hidden = true;
          state.set({ preview: [] });
        },
        click: (event) => {
          const flame = flameAt(boxes(), point(event));
          if (flame && pathTo(within() ?? flame).includes(flame)) lookInto(flame);
          else if (flame) pick(flame);
        },
        dblclick: (event) => lookInto(flameAt(boxes(), point(event))),
        keydown: (event) => {
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          const direction = arrowOf(event);
          const from = focus ?? within();
          const act =
            direction && from
              ? () => walk(focus ? nextFlame(from, direction) : from)
              : keys[event.key];
          if (!act) return;
          event.preventDefault();
          act();
        },
      }),
      state.watch(["selection", "kernel", "within"], follow),
    ),
  };
}
