// The code of a kernel for other targets: figures for all targets, and two texts side by side.
import { targetParts } from "../../server/api.js";
import { requestsOf } from "../../jobs/beside.js";
import { childJob } from "../../jobs/child_job.js";
import { queuedWords } from "../../jobs/waiting.js";
import { asProblem } from "../../jobs/compile.js";
import { clone, el, listen, part, partOf } from "../../elements/dom.js";
import { formatBytes, formatCount, formatSeconds } from "../../text/format.js";
import { nested } from "../../results/running.js";
import { longest, selectKernel, shownKernel } from "../../state/selection.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { showProblem } from "../shell/problem.js";
import { mountTable } from "../shell/table.js";
import { mountSide } from "./targets_side.js";

/**
 * @typedef {import("../../wire.js").Kernel} Kernel
 * @typedef {import("../../wire.js").Targets} Targets
 * @typedef {import("../../wire.js").TargetRow} TargetRow
 */

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {import("../../jobs/beside.js").Findings} findings
 * @returns {() => void}
 */
export function mountTargets(root, state, findings) {
  const { parts, result, work, beside } = state.get();
  const kept = work ? null : new Set(requestsOf(beside, "targets").map(({ kernel }) => kernel));
  // Only kernels with a computation have code; a shared function is listed once.
  const kernels = (result?.kernels ?? []).filter(
    (each) => each.parts.includes("computation") && (kept?.has(each.kernel) ?? true),
  );
  if (!parts || kernels.length === 0) {
    root.replaceChildren(el("p", { class: "pane-empty" }, word("targets.none")));
    return () => {};
  }
  root.replaceChildren(clone("pane-targets"));
  const body = part(root, "body");
  const busy = part(root, "busy");
  const cancel = part(root, "cancel");
  const problem = part(root, "problem");
  const choice = partOf(root, "kernel", HTMLSelectElement);
  const level = partOf(root, "level", HTMLSelectElement);
  const sides = /** @type {const} */ (["left", "right"]).map((name, i) =>
    mountSide(part(root, name), word(`targets.${name}`), (target) => put(i, target), {
      get: () => state.get().pins[i],
      set: (line) => {
        const [left, right] = state.get().pins;
        state.set({ pins: i === 0 ? [line, right] : [left, line] });
      },
    }),
  );
  /** @type {ReturnType<typeof childJob> | null} */
  let making = null;
  /** @type {Targets | null} */
  let known = null;
  let job = "";
  let request = 0;
  let shownKernelNumber = -1;
  /** @type {ReturnType<typeof mountTable<TargetRow>> | null} */
  let table = null;

  choice.replaceChildren(
    ...nested(kernels).map(({ kernel: each }) =>
      el("option", { value: String(each.kernel) }, `${each.kernel}  ${each.name}`),
    ),
  );

  const chosen = () => state.get().targets.split(",");

  function put(/** @type {number} */ side, /** @type {string} */ target) {
    const names = chosen();
    names[side] = target;
    state.set({ targets: names.slice(0, 2).join(",") });
  }

  function fail(/** @type {unknown} */ thrown) {
    quiet("");
    showProblem(problem, asProblem(thrown));
  }

  function quiet(/** @type {string} */ words) {
    busy.textContent = words;
    cancel.hidden = true;
  }

  async function load() {
    const kernel = shownKernel(result, state.get()) ?? longest(kernels);
    const wanted = kernels.includes(/** @type {Kernel} */ (kernel)) ? kernel : longest(kernels);
    if (!wanted || !parts || wanted.kernel === shownKernelNumber) return;
    const number = ++request;
    shownKernelNumber = wanted.kernel;
    choice.value = String(wanted.kernel);
    making?.cancel();
    showProblem(problem, null);
    busy.textContent = word("targets.making");
    cancel.hidden = false;
    known = null;
    delete body.dataset.made;
    const mine = childJob(
      () => findings.targets(parts.id, wanted.kernel),
      (name, data, id) => {
        if (number !== request) return;
        if (name === "queued") busy.textContent = queuedWords(data);
        else if (name === "started") busy.textContent = word("targets.making");
        else if (name === "ready") void partly(id, number);
      },
    );
    making = mine;
    try {
      const done = await mine.done;
      if (number !== request) return;
      if (done.state === "cancelled") return quiet(word("targets.cancelled"));
      job = done.id;
      const found = await targetParts.all(done.id);
      if (number !== request) return;
      const seconds = found.rows.reduce((sum, row) => sum + row.seconds, 0);
      quiet(word("targets.took", { all: found.rows.length, time: formatSeconds(seconds) }));
      show(found);
      body.dataset.made = String(found.rows.length);
      void showCode();
    } catch (thrown) {
      if (number === request) fail(thrown);
    }
  }

  /** Show finished targets while others are pending. */
  async function partly(/** @type {string} */ id, /** @type {number} */ number) {
    const found = await targetParts.all(id).catch(() => null);
    if (!found || number !== request || body.dataset.made) return;
    job = id;
    busy.textContent = word("targets.made", { n: found.rows.length, all: "…" });
    show(found);
  }

  function show(/** @type {Targets} */ found) {
    known = found;
    body.hidden = false;
    table?.stop();
    table = mountTable(part(root, "table"), state, tableOf(found, (row) => put(1, row.target)));
    table.show(found.rows);
    part(root, "table").querySelector("table")?.classList.add("targets-figures");
    markRows();
    const names = found.rows.map((row) => row.target);
    sides.forEach((side, i) => side.offer(names, chosen()[i]));
  }

  function markRows() {
    for (const row of part(root, "table").querySelectorAll("tr[data-key]")) {
      const key = row.getAttribute("data-key") ?? "";
      row.toggleAttribute("data-side", chosen().includes(key));
    }
  }

  async function showCode() {
    const number = request;
    const names = chosen();
    const at = /** @type {import("./targets_side.js").Level} */ (state.get().level);
    level.value = at;
    markRows();
    if (!known || !body.dataset.made) return;
    for (const [i, side] of sides.entries()) {
      const row = known.rows.find((each) => each.target === names[i]) ?? known.rows[0];
      side.offer(known.rows.map((each) => each.target), row.target);
      if (row.because) {
        side.say(word("targets.refused", { target: row.target, because: row.because }));
        continue;
      }
      try {
        const code = await targetParts.one(job, row.target);
        if (number !== request || names.join() !== chosen().join()) return;
        side.show(code, at);
      } catch (thrown) {
        if (number === request) return fail(thrown);
      }
    }
    part(root, "says").textContent = sentence(known, names);
  }

  return together(
    () => {
      request += 1;
      making?.cancel();
      table?.stop();
    },
    ...sides.map(({ stop }) => stop),
    listen(cancel, { click: () => making?.cancel() }),
    listen(level, { change: () => state.set({ level: level.value }) }),
    listen(choice, {
      change: () => {
        const kernel = kernels.find((each) => String(each.kernel) === choice.value);
        shownKernelNumber = -1;
        if (kernel) state.set(selectKernel(kernel));
        void load();
      },
    }),
    state.watch(["kernel", "selection", "at"], () => void load()),
    state.watch(["targets", "level"], () => void showCode()),
  );
}

/**
 * @param {Targets} found
 * @param {string[]} names
 */
function sentence({ rows }, names) {
  const [a, b] = names.map((name) => rows.find((row) => row.target === name));
  if (a?.n_instructions == null || b?.n_instructions == null || a === b) return "";
  return word("targets.differ", {
    left: a.target,
    right: b.target,
    a: formatCount(a.n_instructions),
    b: formatCount(b.n_instructions),
    m: formatBytes(a.n_bytes ?? 0),
    k: formatBytes(b.n_bytes ?? 0),
  });
}

/**
 * @param {Targets} found
 * @param {(row: TargetRow) => void} onPick
 */
function tableOf({ classes, name }, onPick) {
  const count = (/** @type {number | null | undefined} */ n) => (n == null ? "–" : formatCount(n));
  const column = (
    /** @type {string} */ id,
    /** @type {(row: TargetRow) => number | null | undefined} */ of,
    /** @type {string} */ hint = "",
    /** @type {(row: TargetRow) => string} */ cell = (row) => count(of(row)),
  ) => ({ id, title: word(`targets.${id}`), cell, order: (/** @type {TargetRow} */ row) => of(row) ?? -1, number: true, hint });
  return {
    name: /** @type {const} */ ("targets"),
    caption: word("targets.caption", { name }),
    keyOf: (/** @type {TargetRow} */ row) => row.target,
    onPick,
    columns: [
      {
        id: "target",
        title: word("targets.target"),
        cell: (/** @type {TargetRow} */ row) =>
          el("button", { class: "link-button mono", type: "button", title: row.triple }, row.target),
        order: (/** @type {TargetRow} */ row) => row.target,
        whole: true,
      },
      column("all", (row) => row.n_instructions),
      ...classes.map((each) =>
        column(`class.${each.name}`, (row) => row.counts[each.name], each.words),
      ),
      column(
        "vector",
        (row) => row.widest_bytes,
        word("targets.vector-hint"),
        (row) => (row.widest_bytes ? `${row.widest_bytes}\u00a0B` : "–"),
      ),
      column(
        "registers",
        (row) => row.n_registers,
        word("targets.registers-hint"),
        (row) =>
          row.n_registers === null
            ? "–"
            : word("targets.of", { used: row.n_registers, all: row.n_vector_registers }),
      ),
      column("spills", (row) => row.n_spills, word("targets.spills-hint")),
      column(
        "bytes",
        (row) => row.n_bytes,
        word("targets.bytes-hint"),
        (row) => (row.n_bytes === null ? "–" : formatBytes(row.n_bytes)),
      ),
    ],
  };
}
