// A search for faster schedules: candidates, the best schedule so far, and the outcome.
import { api, tuningPart } from "../../server/api.js";
import { LINKED, jobBeside } from "../../jobs/beside.js";
import { bindFold } from "../../state/bindings.js";
import { childJob } from "../../jobs/child_job.js";
import { queuedWords } from "../../jobs/waiting.js";
import { asProblem, sentRequest } from "../../jobs/compile.js";
import { clone, el, listen, part, partOf } from "../../elements/dom.js";
import { figure } from "../../elements/figures.js";
import { formatPercent, formatSeconds } from "../../text/format.js";
import { lineDiff } from "../../text/line_diff.js";
import { longest, shownKernel } from "../../state/selection.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { highlighted } from "../kernels/code_lines.js";
import { showProblem } from "../shell/problem.js";
import { mountTable } from "../shell/table.js";
import { courseOf, expectedOf, outcome } from "./tuning_chart.js";

/**
 * @typedef {import("../../wire.js").Tuning} Tuning
 * @typedef {import("../../wire.js").TuneTrial} TuneTrial
 */

const BUDGETS = [5, 10, 20, 30, 45, 90, 180];
/** Seconds of a job's limit reserved for work outside the search; the server has the same constant. */
const REST_S = 15;

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {import("../../jobs/beside.js").Findings} findings
 * @returns {() => void}
 */
export function mountTuning(root, state, findings) {
  const { parts, result, work } = state.get();
  const kernels = (result?.kernels ?? []).filter(
    (each) => each.parts.includes("schedule") && each.inside === null,
  );
  if (!parts || kernels.length === 0) {
    root.replaceChildren(el("p", { class: "pane-empty" }, word("tuning.none")));
    return () => {};
  }
  root.replaceChildren(clone("pane-tuning"));
  const body = part(root, "body");
  const busy = part(root, "busy");
  const problem = part(root, "problem");
  const start = partOf(root, "start", HTMLButtonElement);
  const stop = partOf(root, "stop", HTMLButtonElement);
  const kernel = partOf(root, "kernel", HTMLSelectElement);
  const budget = partOf(root, "budget", HTMLSelectElement);
  const search = partOf(root, "search", HTMLSelectElement);
  const which = partOf(root, "which", HTMLSelectElement);
  const chosenSearch = () => /** @type {import("../../wire.js").TuneOptions["search"]} */ (search.value);
  let request = 0;
  let leave = () => {};
  /** @type {Tuning | null} */
  let known = null;

  const table = mountTable(part(root, "table"), state, tableOf());
  kernel.replaceChildren(
    el("option", { value: "" }, word("tuning.all")),
    ...kernels.map((each) =>
      el("option", { value: String(each.kernel) }, `${each.kernel}  ${each.name}`),
    ),
  );
  const first = shownKernel(result, state.get()) ?? longest(kernels);
  kernel.value = kernels.includes(/** @type {any} */ (first)) ? String(first?.kernel) : "";
  const asked = readTune(state.get().tune);
  const offered = [...search.options].find((each) => each.value === asked.search);
  if (offered && !offered.disabled) search.value = asked.search;
  if (asked.seconds) kernel.value = asked.kernel;

  function fail(/** @type {unknown} */ thrown) {
    quiet("");
    showProblem(problem, asProblem(thrown));
  }

  function quiet(/** @type {string} */ words) {
    busy.textContent = words;
    start.disabled = false;
    stop.hidden = true;
  }

  /** @param {() => Promise<import("../../wire.js").Job>} submit */
  async function follow(submit, number = ++request) {
    showProblem(problem, null);
    start.disabled = true;
    stop.hidden = false;
    stop.disabled = false;
    busy.textContent = word("tuning.starting");
    delete body.dataset.over;
    const job = childJob(submit, (name, data, id) => {
      if (number !== request) return;
      if (name === "queued") busy.textContent = queuedWords(data);
      else if (name === "started") busy.textContent = word("tuning.starting");
      else if (name === "ready") void read(id, number, false);
    });
    leave();
    leave = job.leave;
    try {
      const id = await job.id;
      if (number === request) state.set({ tuning: id });
      const done = await job.done;
      if (number !== request) return;
      if (done.state === "cancelled") return quiet(word("tuning.cancelled"));
      await read(id, number, true);
    } catch (thrown) {
      if (number === request) fail(thrown);
    }
  }

  async function read(/** @type {string} */ id, /** @type {number} */ number, /** @type {boolean} */ over) {
    const found = await tuningPart(id);
    if (number !== request || (body.dataset.over && !over)) return;
    known = found;
    const n = found.trials.length;
    const left = Math.ceil(0.7 * found.budget_seconds - found.searching_seconds);
    if (over) quiet(word("tuning.done", { n, time: formatSeconds(found.searching_seconds) }));
    else if (!stop.disabled)
      busy.textContent =
        left > 0 ? word("tuning.searching", { n, left }) : word("tuning.closing", { n });
    body.hidden = false;
    if (which.options.length !== found.kernels.length)
      which.replaceChildren(
        ...found.kernels.map(({ name }, i) => el("option", { value: String(i) }, name)),
      );
    chooseCandidates();
    draw();
    verdict(id, found);
    if (over) body.dataset.over = id;
  }

  function chooseCandidates() {
    which.value = String(Math.min(state.get().candidates, Math.max(0, which.options.length - 1)));
  }

  function draw() {
    if (!known) return;
    const row = known.kernels[Number(which.value)];
    const trials = known.trials.filter((each) => each.kernel === Number(which.value));
    if (!row) return;
    const faster = trials.filter(({ ratio }) => ratio !== null && ratio < 1).length;
    const bad = trials.filter(({ ratio }) => ratio === null).length;
    const best = trials[trials.length - 1]?.best ?? 1;
    part(root, "figures").replaceChildren(
      figure("tuning.tried", String(trials.length)),
      figure("tuning.faster", String(faster)),
      figure("tuning.bad", String(bad)),
      figure("tuning.best", best.toFixed(2)),
      figure("tuning.share", formatPercent(row.share)),
    );
    part(root, "course").replaceChildren(courseOf(trials));
    const { picture, n } = expectedOf(trials);
    part(root, "expected").replaceChildren(
      n ? picture : el("p", { class: "muted" }, word("tuning.no-model")),
    );
    part(root, "diff").replaceChildren(diffOf(row.policy, row.schedule));
    part(root, "refused").replaceChildren(...reasons(trials));
    table.show(trials);
  }

  function verdict(/** @type {string} */ id, /** @type {Tuning} */ { kernels: rows, model }) {
    const box = part(root, "verdict");
    if (!model) return box.replaceChildren();
    const kept = rows.filter((row) => row.kept);
    const whole =
      model.ratio === null
        ? word("tuning.model-same", { before: formatSeconds(model.untuned_s) })
        : word("tuning.model", {
            n: model.rounds,
            ratio: model.ratio.toFixed(3),
            low: (model.low ?? 0).toFixed(3),
            high: (model.high ?? 0).toFixed(3),
            before: formatSeconds(model.untuned_s),
            after: formatSeconds(model.tuned_s),
          });
    box.replaceChildren(
      el("p", {}, el("strong", {}, whole)),
      el(
        "ul",
        { class: "value-list" },
        ...rows
          .filter((row) => row.kept || row.because)
          .map((row) =>
            el(
              "li",
              {},
              row.kept
                ? word("tuning.kept", {
                    name: row.name,
                    before: formatSeconds(row.untuned_s ?? 0),
                    after: formatSeconds(row.tuned_s ?? 0),
                  })
                : word("tuning.dropped", { name: row.name, because: row.because }),
            ),
          ),
      ),
      ...kept
        .slice(0, work ? 1 : 0)
        .map(() =>
          el("button", { class: "button", type: "button", onclick: () => void use(id) }, word("tuning.use")),
        ),
    );
  }

  /** Compile the model with the schedules found, and compare the two results. */
  async function use(/** @type {string} */ id) {
    if (!work) return;
    try {
      const job = await work.submit({ ...(await sentRequest(state.get())), tuned: id });
      state.set({ other: job.id, pane: "compare" });
    } catch (thrown) {
      fail(thrown);
    }
  }

  if (!work) {
    part(root, "bar").hidden = true;
    void follow(() => findings.tune(parts.id, { budget_seconds: 1, search: chosenSearch(), kernel: null }));
  } else api.about().then(({ limits }) => {
    if (!root.contains(budget)) return; // the pane was closed
    const most = Math.max(1, limits.job_limit_s - REST_S);
    const offered = [...BUDGETS.filter((each) => each < most), most];
    budget.replaceChildren(
      ...offered.map((each) => el("option", { value: String(each) }, `${each}\u00a0s`)),
    );
    const wanted = asked.seconds || 20;
    budget.value = String(offered.includes(wanted) ? wanted : offered[offered.length - 1]);
    part(root, "limits").textContent = word("tuning.limits", { most, limit: limits.job_limit_s });
  }, fail);

  const release = together(
    () => (request += 1),
    () => leave(),
    table.stop,
    listen(which, { change: () => state.set({ candidates: Number(which.value) }) }),
    state.watch(["candidates"], () => (chooseCandidates(), draw())),
    bindFold(partOf(root, "all-candidates", HTMLDetailsElement), state, "tuning-table"),
    listen(start, {
      click: () =>
        void follow(() =>
          findings.tune(parts.id, {
            budget_seconds: Number(budget.value),
            search: chosenSearch(),
            kernel: kernel.value === "" ? null : Number(kernel.value),
          }),
        ),
    }),
    listen(stop, {
      click: () => {
        stop.disabled = true;
        busy.textContent = word("tuning.stopping");
        void work?.stopTuning(state.get().tuning).catch(fail);
      },
    }),
    ...[kernel, budget, search].map((each) =>
      listen(each, { change: () => state.set({ tune: [budget.value, search.value, kernel.value].join(":") }) }),
    ),
  );
  const { tuning } = state.get();
  if (tuning && work) void restore(tuning);
  return release;

  /** Restore the search named in the URL, if it is running or its result is stored. */
  async function restore(/** @type {string} */ id) {
    const number = ++request;
    const named = id === LINKED ? jobBeside(/** @type {import("../../server/api.js").Parts} */ (parts), "tune", id) : api.job(id);
    const job = await named.catch(() => null);
    if (number !== request) return;
    if (job) return follow(() => Promise.resolve(job), number);
    state.set({ tuning: "" });
    quiet(word("tuning.gone"));
  }
}

/** Parse the last request "20:annealing:3": seconds, search and kernel. @param {string} tune */
function readTune(tune) {
  const [seconds, search, kernel] = tune.split(":");
  return { seconds: Number(seconds), search, kernel };
}

/** @param {string} policy @param {string} schedule */
function diffOf(policy, schedule) {
  if (!schedule) return el("p", { class: "muted" }, word("tuning.same"));
  // Only the moves of the policy have reasons.
  const moves = policy.replace(/ because ".*"$/gm, "");
  const marker = { "": " ", added: "+", removed: "−" };
  return el(
    "div",
    { class: "code-lines", "data-language": "schedule", tabIndex: 0, role: "region", "aria-label": word("pane.schedule") },
    ...lineDiff(moves, schedule).map(({ kind, text }) =>
      el(
        "div",
        { class: "code-line", "data-kind": kind || undefined },
        el("span", { class: "code-marker" }, marker[kind]),
        el("span", { class: "code-text" }, ...highlighted("schedule", text)),
      ),
    ),
  );
}

/** Return the reasons for rejected candidates, most frequent first. @param {TuneTrial[]} trials */
function reasons(trials) {
  /** @type {Map<string, number>} */
  const counted = new Map();
  for (const trial of trials) {
    if (trial.ratio !== null && trial.ratio < 1) continue;
    const what = trial.ratio === null ? outcome(trial) : word("tuning.slower");
    counted.set(what, (counted.get(what) ?? 0) + 1);
  }
  return [...counted]
    .sort((a, b) => b[1] - a[1])
    .map(([what, n]) => el("li", {}, word("tuning.reason", { n, what })));
}

function tableOf() {
  const number = (/** @type {number | null} */ n) => (n === null ? "–" : n.toFixed(3));
  return {
    name: /** @type {const} */ ("tuning"),
    caption: word("tuning.caption"),
    keyOf: (/** @type {TuneTrial} */ each) => String(each.number),
    onPick: () => {},
    columns: [
      {
        id: "number",
        title: word("tuning.number"),
        cell: (/** @type {TuneTrial} */ each) => String(each.number),
        order: (/** @type {TuneTrial} */ each) => each.number,
        number: true,
      },
      {
        id: "ratio",
        title: word("tuning.ratio"),
        cell: (/** @type {TuneTrial} */ each) => number(each.ratio),
        order: (/** @type {TuneTrial} */ each) => each.ratio ?? Infinity,
        number: true,
      },
      {
        id: "foretold",
        title: word("tuning.foretold"),
        cell: (/** @type {TuneTrial} */ each) => number(each.expected),
        order: (/** @type {TuneTrial} */ each) => each.expected ?? Infinity,
        number: true,
      },
      { title: word("tuning.outcome"), cell: outcome },
    ],
  };
}
