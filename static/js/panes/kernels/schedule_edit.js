// The editor of a kernel's schedule: checks the text while the user types, and runs it against the original.
import { api, editedKernel } from "../../server/api.js";
import { childJob } from "../../jobs/child_job.js";
import { queuedWords } from "../../jobs/waiting.js";
import { asProblem } from "../../jobs/compile.js";
import { clone, el, listen, part, partOf, revealSoon } from "../../elements/dom.js";
import { formatCount } from "../../text/format.js";
import { scheduleCompletions, splitEdited } from "../../text/schedule_text.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { showProblem } from "../shell/problem.js";
import { mountScheduleResult } from "./schedule_result.js";
import { mountTextEditor } from "../models/text_editor.js";

const CHECK_AFTER_MS = 250;

/** @type {Omit<import("../../wire.js").CheckedSchedule, "problems"> & {problems: import("../../state/page.js").PageProblem[]}} */
const NOTHING = { problems: [], n_moves: 0, stages: [], nests: [] };

/** The last run, which persists while other panes are shown. */
let last = { at: "", id: "" };

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {import("../../server/work.js").Work} work
 * @param {import("../../wire.js").Kernel} kernel with the schedule `edited` of the state
 * @param {string} own text of the kernel's original schedule
 * @returns {() => void}
 */
export function mountScheduleEdit(root, state, work, kernel, own) {
  root.replaceChildren(clone("schedule-edit"));
  const job = state.get().parts?.id ?? "";
  const says = part(root, "says");
  const run = partOf(root, "run", HTMLButtonElement);
  const undo = partOf(root, "undo", HTMLButtonElement);
  const cancel = part(root, "cancel");
  const busy = part(root, "busy");
  const problem = part(root, "problem");
  const result = mountScheduleResult(part(root, "result"), state);
  /** @type {import("../../wire.js").Moves | null} */
  let moves = null;
  let checked = NOTHING;
  let checking = 0;
  let running = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {ReturnType<typeof childJob> | null} */
  let made = null;
  const editor = mountTextEditor(root, {
    language: "schedule",
    complete: (text, at) => scheduleCompletions(text, at, moves, checked),
    changed: () => put(editor.area.value),
  });
  const { area } = editor;
  const text = () => splitEdited(state.get().edited).text;
  const put = (/** @type {string} */ given) => state.set({ edited: `${kernel.kernel}:${given}` });
  const place = () => `${job} ${state.get().edited}`;

  api.moves().then(
    (found) => (moves = found),
    (thrown) => showProblem(problem, asProblem(thrown)),
  );

  async function check() {
    const number = ++checking;
    const given = text();
    if (moves && given.length > moves.characters) {
      const [n, most] = [given.length, moves.characters].map(formatCount);
      says.textContent = word("schedule.long", { n, most });
      run.disabled = true;
      return;
    }
    try {
      const found = await work.checkSchedule(job, kernel.kernel, given);
      if (number === checking) checked = found;
    } catch (thrown) {
      if (number === checking) checked = { ...NOTHING, problems: [asProblem(thrown)] };
    }
    if (number !== checking) return;
    editor.show(checked.problems);
    const n = checked.problems.length;
    says.textContent = n
      ? word("schedule.wrong", { n })
      : word("schedule.right", { n: checked.n_moves });
    run.disabled = n > 0 || made !== null;
  }

  function quiet(/** @type {string} */ words) {
    made = null;
    busy.textContent = words;
    cancel.hidden = true;
    run.disabled = checked.problems.length > 0;
  }

  async function start() {
    const number = ++running;
    const at = place();
    const given = text();
    showProblem(problem, null);
    run.disabled = true;
    cancel.hidden = false;
    busy.textContent = word("schedule.making");
    made = childJob(
      () => work.runSchedule(job, kernel.kernel, given),
      (name, data, id) => {
        if (number !== running) return;
        if (name === "queued") busy.textContent = queuedWords(data);
        else if (name === "round") busy.textContent = word("schedule.round", { n: data.done });
        else if (name === "ready") void show(id, number, false);
      },
    );
    try {
      const done = await made.done;
      if (number !== running) return;
      if (done.state === "cancelled") return quiet(word("schedule.cancelled"));
      last = { at, id: done.id };
      await show(done.id, number, true);
      revealSoon(part(root, "verdict"));
      quiet("");
      stale();
    } catch (thrown) {
      if (number !== running) return;
      quiet("");
      showProblem(problem, asProblem(thrown));
    }
  }

  async function show(
    /** @type {string} */ id,
    /** @type {number} */ number,
    /** @type {boolean} */ over,
  ) {
    const found = await editedKernel(id);
    if (number === running) result.show(found, over);
  }

  /** Mark a result of an earlier text as stale. */
  function stale() {
    const other = last.id !== "" && last.at.startsWith(`${job} ${kernel.kernel}:`) && last.at !== place();
    if (!made) busy.textContent = other ? word("schedule.stale") : "";
  }

  if (last.at === place())
    void show(last.id, running, true).catch(() => (last = { at: "", id: "" }));

  const stop = together(
    () => clearTimeout(timer),
    () => {
      checking += 1;
      running += 1;
      made?.cancel();
    },
    editor.stop,
    result.stop,
    listen(run, { click: () => void start() }),
    listen(cancel, { click: () => made?.cancel() }),
    listen(undo, {
      click: () => {
        put(own);
        area.focus();
      },
    }),
    listen(part(root, "close"), { click: () => state.set({ edited: "" }) }),
    state.watch(["edited"], () => {
      const given = text();
      if (area.value !== given) area.value = given;
      undo.disabled = given === own;
      checked = { ...checked, problems: [] };
      editor.show([]);
      stale();
      clearTimeout(timer);
      timer = setTimeout(() => void check(), CHECK_AFTER_MS);
    }),
  );
  return stop;
}

/** Return the button that starts editing. @param {() => void} onclick */
export const editButton = (onclick) =>
  el("button", { class: "button", type: "button", "data-part": "edit", onclick }, word("schedule.edit"));
