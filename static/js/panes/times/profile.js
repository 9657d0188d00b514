// Profile of a run: a flame chart by provenance, and every kernel with its lower bound.
import { api } from "../../server/api.js";
import { bringIntoView, clone, el, listen, part, partOf } from "../../elements/dom.js";
import { declaredFigure, figure } from "../../elements/figures.js";
import { flameOf, naturalGrouping } from "../../charts/flame_map.js";
import { formatPercent, formatRatio, formatSeconds } from "../../text/format.js";
import { familyOfKernel } from "../../elements/families.js";
import { selectKernel, selectedKernels } from "../../state/selection.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { diagnosisOf } from "./diagnosis.js";
import { mountFlame } from "./flame.js";
import { honestWords, mountMeasured, mountMeasuring } from "./measuring.js";
import { mountTable } from "../shell/table.js";

/**
 * @typedef {import("../../wire.js").Profile} Profile
 * @typedef {import("../../wire.js").Kernel} Kernel
 * @typedef {import("../../wire.js").KernelTimes} KernelTimes
 * @typedef {{kernel: Kernel, times: KernelTimes}} Row
 */

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountProfile(root, state) {
  return mountMeasured(root, state, show);
}

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {Profile} profile
 */
function show(root, state, profile) {
  root.replaceChildren(clone("pane-profile"));
  const { parts, measured } = state.get();
  const kernels = state.get().result?.kernels ?? [];
  const link = partOf(root, "trace", HTMLAnchorElement);
  const address = api.traceAddress(measured || (parts?.id ?? ""));
  link.hidden = !address;
  if (address) link.href = address;
  const by = partOf(root, "by", HTMLSelectElement);
  part(root, "figures").replaceChildren(...figuresOf(profile));
  part(root, "honest").textContent = honestWords(profile);
  part(root, "notes").textContent = word("profile.notes", {
    call: formatSeconds(profile.totals.call_s),
    least: formatSeconds(profile.machine.call_s),
    speeds: profile.machine.is_measured
      ? word("profile.speeds-measured")
      : word("profile.speeds-estimated"),
  });
  const measuring = mountMeasuring(root, state);
  const flame = mountFlame(root, state);
  const table = mountTable(part(root, "table"), state, {
    name: "profile",
    caption: word("profile.caption"),
    keyOf: (/** @type {Row} */ { kernel }) => String(kernel.kernel),
    onPick: ({ kernel }) => {
      state.set(selectKernel(kernel));
      bringIntoView(part(root, "diagnosis"));
    },
    originsOf: ({ kernel }) => kernel.origins,
    columns: columnsOf(profile.machine.is_measured),
  });
  const rows = profile.kernels
    .map((times) => ({ kernel: kernels[times.kernel], times }))
    .sort((a, b) => b.times.median_s - a.times.median_s);
  table.show(rows);
  return together(
    measuring.stop,
    table.stop,
    flame.stop,
    listen(by, {
      change: () =>
        state.set({ flame: /** @type {"scope" | "operator"} */ (by.value), within: "" }),
    }),
    state.watch(["flame", "provenance"], ({ flame: wanted, provenance }) => {
      const grouping = wanted || naturalGrouping(profile);
      by.value = grouping;
      const operators = new Map(provenance?.onnx.map(({ name, op }) => [name, op]));
      flame.show(
        flameOf(profile, kernels, {
          by: grouping,
          operatorOf: (origin) => operators.get(origin) || origin,
          familyOf: familyOfKernel,
          words: { run: word("profile.all"), nobody: word("profile.nobody") },
        }),
        profile,
      );
    }),
    state.watch(["selection", "kernel"], ({ result, selection, kernel }) => {
      const chosen = new Set(selectedKernels(result, selection).map((each) => each.kernel));
      table.mark((row) => row.kernel.kernel === kernel || chosen.has(row.kernel.kernel), false);
      const row =
        rows.find((each) => each.kernel.kernel === kernel) ??
        rows.find((each) => chosen.has(each.kernel.kernel)) ??
        rows[0];
      if (result && row) part(root, "diagnosis").replaceChildren(...diagnosisOf(state, result, row));
    }),
  );
}

/** @param {Profile} profile */
function figuresOf(profile) {
  const { kernels_s: kernels, outside_s: beside, predicted_s: least, run_bound_s, potential_s: worth } = profile.totals;
  const { low_s, high_s } = profile.run;
  const run = declaredFigure("run_median", profile.run.median_s);
  run.lastElementChild?.append(el("small", {}, ...between(low_s, high_s)));
  const share = (/** @type {number} */ part_s) => el("small", {}, word("profile.of-kernels", { share: formatPercent(part_s / kernels) }));
  const figures = [
    run,
    declaredFigure("run_bound", run_bound_s),
    declaredFigure("kernels_sum", kernels),
    beside < 0 ? figure("profile.saved", formatSeconds(-beside)) : declaredFigure("outside_kernels", beside),
    declaredFigure("separate_bounds", least),
    declaredFigure("potentials", worth),
  ];
  if (run_bound_s > profile.run.median_s) {
    const how = profile.machine.is_measured ? "profile.bound-above-measured" : "profile.bound-above-estimated";
    figures[1].lastElementChild?.append(el("small", {}, word(how)));
  }
  figures[4].lastElementChild?.append(share(least));
  figures[5].lastElementChild?.append(el("small", {}, word("profile.of-run", { share: formatPercent(worth / profile.run.median_s) })));
  return figures;
}

/**
 * @param {boolean} isMeasured whether the speeds of the machine were measured
 * @returns {import("../shell/table.js").Column<Row>[]}
 */
function columnsOf(isMeasured) {
  return [
    {
      id: "kernel",
      title: word("profile.kernel"),
      cell: ({ kernel }) => el("button", { class: "link-button mono", type: "button" }, kernel.name),
      order: ({ kernel }) => kernel.name,
      whole: true,
    },
    {
      id: "time",
      title: word("profile.time"),
      cell: ({ times }) => formatSeconds(times.median_s),
      order: ({ times }) => times.median_s,
      number: true,
    },
    {
      id: "share",
      title: word("profile.share"),
      cell: ({ times }) => formatPercent(times.share),
      order: ({ times }) => times.median_s,
      number: true,
    },
    {
      id: "cause",
      title: word("profile.cause"),
      cell: ({ times }) => times.diagnosis.title,
      order: ({ times }) => times.diagnosis.title,
      whole: true,
      hint: word("profile.cause-words"),
    },
    {
      id: "interval",
      title: word("profile.interval"),
      cell: ({ times }) => `${formatSeconds(times.low_s)} – ${formatSeconds(times.high_s)}`,
      order: ({ times }) => (times.high_s - times.low_s) / times.median_s,
      number: true,
    },
    {
      id: "predicted",
      title: word(isMeasured ? "profile.predicted" : "profile.predicted-estimated"),
      cell: ({ times }) => (times.predicted_s === null ? "–" : formatSeconds(times.predicted_s)),
      order: ({ times }) => times.predicted_s ?? -1,
      number: true,
      hint: word("profile.predicted-words"),
    },
    {
      id: "ratio",
      title: word("profile.ratio"),
      cell: ({ times }) => (times.ratio === null ? "–" : formatRatio(times.ratio)),
      order: ({ times }) => times.ratio ?? -1,
      number: true,
      hint: word("profile.ratio-words"),
    },
    {
      id: "worth-column",
      title: word("profile.worth-column"),
      cell: ({ times }) => (times.potential_s === null ? "–" : formatSeconds(times.potential_s)),
      order: ({ times }) => times.potential_s ?? -1,
      number: true,
      hint: word("profile.worth-words"),
    },
    {
      id: "origins",
      title: word("profile.origins"),
      cell: ({ kernel: { origins } }) =>
        origins.length > 3
          ? `${origins.slice(0, 3).join(", ")} ${word("n-more", { n: origins.length - 3 })}`
          : origins.join(", "),
    },
  ];
}

/** Return the parts of an interval, between which a line may break. @param {number} low_s @param {number} high_s */
function between(low_s, high_s) {
  return [`${formatSeconds(low_s)} – `, formatSeconds(high_s)];
}
