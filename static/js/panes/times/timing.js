// Time of a run, correctness of the results, and compile time. profile.js has the times per kernel.
import { clone, closest, el, listen, part } from "../../elements/dom.js";
import { bar, declaredFigure, figure } from "../../elements/figures.js";
import { formatBytes, formatCount, formatError, formatPercent, formatSeconds } from "../../text/format.js";
import { emptyWords, sizesOf } from "../../text/headline.js";
import { together } from "../../state/state.js";
import { hasWord, word } from "../../text/words.js";

/**
 * @typedef {import("../../wire.js").Result} Result
 */

const LONGEST = 12;

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountTiming(root, state) {
  root.replaceChildren(clone("pane-timing"));
  const body = part(root, "body");
  return together(
    listen(body, {
      click: (event) => {
        const data = closest(event, "button")?.dataset ?? {};
        if (data.pane) state.set({ pane: data.pane });
        else if (data.stage !== undefined) state.set({ stage: Number(data.stage) });
      },
    }),
    state.watch(["result"], ({ result }) => {
      if (!result) return body.replaceChildren();
      body.replaceChildren(
        running(result),
        correct(result),
        compiling(result),
        reproduce(result, state),
      );
    }),
  );
}

/** @param {Result} result */
function running(result) {
  const { run, host } = result;
  const section = el("section", { class: "section" }, el("h2", {}, word("timing.run")));
  if (!run || run.skipped || run.median_s === null) {
    section.append(
      el(
        "p",
        { class: "muted" },
        run?.skipped || word(result.state === "running" ? "timing.soon" : "timing.not-measured"),
      ),
    );
    return section;
  }
  const seconds = (/** @type {number | null} */ value) =>
    value === null ? "–" : formatSeconds(value);
  section.append(
    el(
      "dl",
      { class: "memory-figures" },
      declaredFigure("run_median", run.median_s),
      figure("timing.interval", `${seconds(run.low_s)} – ${seconds(run.high_s)}`),
      declaredFigure("run_minimum", run.min_s),
      declaredFigure("throughput", run.flops_per_s),
    ),
    el(
      "p",
      { class: "muted" },
      word("timing.honest", {
        host: host.name,
        runs: word("timing.runs", { n: run.repeats }),
        threads: word("measured.threads", { n: run.threads }),
      }),
      " ",
      el("button", { type: "button", class: "link-button", "data-pane": "profile" }, word("timing.kernels")),
    ),
  );
  return section;
}

/** @param {Result} result */
function correct(result) {
  const { check, accuracy, state, empty } = result;
  const section = el("section", { class: "section" }, el("h2", {}, word("timing.correct")));
  const [warning, sizes] = [emptyWords(result), sizesOf(result)];
  if (warning)
    section.append(el("p", {}, word(sizes ? "timing.empty" : "timing.always-empty", { warning, sizes })));
  if (!check || check.skipped)
    section.append(
      el(
        "p",
        { class: "muted" },
        check?.skipped || word(state === "running" ? "timing.soon" : "timing.not-checked"),
      ),
    );
  else {
    section.append(
      el("p", { class: "muted" }, word("timing.check-words")),
      el(
        "table",
        { class: "table" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ...["output", "error", "scale", "relative"].map((key, i) =>
              el("th", { scope: "col", class: i ? "number" : "" }, word(`timing.${key}`)),
            ),
          ),
        ),
        el(
          "tbody",
          {},
          ...check.outputs.map((each) =>
            el(
              "tr",
              {},
              el("td", { class: "mono wrap" }, each.name),
              ...[each.max_abs_error, each.scale, each.relative_error].map((value) =>
                el("td", { class: "number" }, empty.outputs.includes(each.name) ? "–" : formatError(value)),
              ),
            ),
          ),
        ),
      ),
    );
  }
  if (accuracy) {
    section.append(
      el(
        "dl",
        { class: "memory-figures" },
        figure("timing.accuracy-reference", formatPercent(accuracy.reference)),
        figure("timing.accuracy-compiled", formatPercent(accuracy.compiled)),
        figure("timing.agree", `${formatCount(accuracy.n_agree)} / ${formatCount(accuracy.n)}`),
      ),
      el("p", { class: "muted" }, word("timing.accuracy-words", { words: accuracy.words })),
    );
  }
  return section;
}

/** @param {Result} result */
function compiling({ timings, stages, passes: made }) {
  const total = timings.reduce((sum, each) => sum + each.seconds, 0);
  const longest = Math.max(...timings.map((each) => each.seconds), 1e-9);
  const passes = stages
    .slice(1)
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, LONGEST);
  return el(
    "section",
    { class: "section" },
    el("h2", {}, word("timing.compile")),
    el("p", { class: "muted" }, word("timing.compile-words", { time: formatSeconds(total) })),
    el(
      "div",
      { class: "bars" },
      ...timings.flatMap((each) => [
        el("span", {}, hasWord(`phase.${each.phase}`) ? word(`phase.${each.phase}`) : each.phase),
        bar(each.seconds / longest),
        el("span", { class: "number" }, formatSeconds(each.seconds)),
      ]),
    ),
    passesTime(timings, made),
    el("h3", {}, word("timing.passes")),
    el(
      "div",
      { class: "bars" },
      ...passes.flatMap((each) => {
        const button = el("button", { type: "button", class: "link-button mono" }, each.name);
        button.dataset.stage = String(each.stage);
        const verify = el(
          "span",
          { class: "number" },
          word("timing.pass", {
            time: formatSeconds(each.seconds),
            verify: formatSeconds(each.verify_seconds),
          }),
        );
        return [button, bar(each.seconds / (passes[0].seconds || 1)), verify];
      }),
    ),
  );
}

/**
 * Divide the time of the phase of the passes; null before the phase has ended.
 * @param {Result["timings"]} timings
 * @param {Result["passes"]} made
 */
function passesTime(timings, made) {
  const phase = timings.find((each) => each.phase === "passes");
  if (!phase) return null;
  const rest = Math.max(0, phase.seconds - made.seconds - made.verify_seconds);
  const text = word("timing.passes-divided", {
    phase: word("phase.passes"),
    time: formatSeconds(phase.seconds),
    passes: formatSeconds(made.seconds),
    verify: formatSeconds(made.verify_seconds),
    rest: formatSeconds(rest),
  });
  return el("p", { class: "muted" }, text);
}

/**
 * @param {Result} result
 * @param {import("../../state/page.js").PageState} state
 */
function reproduce(result, state) {
  const { parts } = state.get();
  const { model, versions, host } = result;
  const versionsText = Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ");
  return el(
    "section",
    { class: "section" },
    el("h2", {}, word("timing.reproduce")),
    el("pre", { class: "code wrap" }, el("code", {}, result.reproduce)),
    el(
      "dl",
      { class: "facts" },
      el("dt", {}, word("timing.model")),
      el(
        "dd",
        {},
        `${model.name}, ${formatBytes(model.bytes)}, ${word("n-onnx-nodes", { n: model.n_onnx_nodes, count: formatCount(model.n_onnx_nodes) })}, ${word("timing.imported-as", { nodes: word("n-nodes", { n: model.n_nodes, count: formatCount(model.n_nodes) }) })}, ${word("n-parameters", { n: model.n_parameters, count: formatCount(model.n_parameters) })}`,
      ),
      el("dt", {}, word("timing.host")),
      el("dd", {}, `${host.name}, ${host.triple}`),
      el("dt", {}, word("timing.versions")),
      el("dd", {}, versionsText),
      ...downloads(parts),
    ),
  );
}

/**
 * Create the links that download the program, if a server has the files.
 * @param {import("../../server/api.js").Parts | null} parts
 */
function downloads(parts) {
  const links = ["graph", "loops", "llvm", "asm"].flatMap((what) => {
    const href = parts?.downloadAddress(what);
    return href ? [el("a", { href, download: "" }, word(`download.${what}`))] : [];
  });
  if (links.length === 0) return [];
  return [
    el("dt", {}, word("timing.download")),
    el("dd", { class: "journey-nodes" }, ...links),
  ];
}
