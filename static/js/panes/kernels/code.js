// The kernel of the selection as text at one level: computation, schedule, loops, LLVM IR, assembly.
import { foldOf } from "../../state/bindings.js";
import { asProblem } from "../../jobs/compile.js";
import { clone, el, listen, part, partOf } from "../../elements/dom.js";
import { formatCount } from "../../text/format.js";
import { LINKED, areLinked, linesFor, loopLine } from "../../text/links.js";
import { nested, whyNone } from "../../results/running.js";
import { splitEdited } from "../../text/schedule_text.js";
import { longest, selectKernel, shownKernel } from "../../state/selection.js";
import { together } from "../../state/state.js";
import { secondOf } from "../../state/url.js";
import { word } from "../../text/words.js";
import { highlighted, mountCodeLines } from "./code_lines.js";
import { moreLines } from "./more_lines.js";
import { showProblem } from "../shell/problem.js";
import { editButton, mountScheduleEdit } from "./schedule_edit.js";

/** @typedef {import("../../wire.js").KernelPart} KernelPart */

const CHUNK = 2500;

/**
 * @param {KernelPart} name
 * @returns {(root: HTMLElement, state: import("../../state/page.js").PageState) => () => void}
 */
export function codePane(name) {
  return (root, state) => mountCode(root, state, name);
}

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {KernelPart} name
 * @returns {() => void}
 */
function mountCode(root, state, name) {
  root.replaceChildren(clone("pane-code"));
  const body = part(root, "body");
  const note = part(root, "note");
  const choice = partOf(root, "kernel", HTMLSelectElement);
  const copy = part(root, "copy");
  let request = 0;
  let text = "";
  /** @type {import("../../wire.js").ScheduleStep[]} */
  let steps = [];
  /** @type {import("../../wire.js").KernelLinks | null} */
  let links = null;
  /** @type {import("../../wire.js").Kernel | null} */
  let kernel = null;
  /** The level, if its lines are linked with the lines of other levels. */
  const linked = LINKED.find((each) => each === name);
  const lines =
    linked &&
    mountCodeLines(body, linked, word(`pane.${name}`), {
      pick: (line) => {
        if (!kernel) return;
        const loop = loopLine(links, linked, line);
        const pinned = loop < 0 ? "" : `${kernel.kernel}:${loop}`;
        const { line: was } = state.get();
        state.set({ ...selectKernel(kernel), line: pinned === was ? "" : pinned });
      },
      point: (line) => {
        mark(line < 0 ? -1 : loopLine(links, linked, line), false);
        state.set({ preview: line >= 0 && kernel ? kernel.origins : [] });
      },
    });
  let n = 0;
  const { work } = state.get();
  const editable = name === "schedule" && work !== null;
  /** The editor shown instead of the text, and the kernel of the editor. */
  let editing = { kernel: -1, stop: () => {} };
  const edit = editButton(() => {
    if (kernel) state.set({ edited: `${kernel.kernel}:${text}` });
  });
  edit.hidden = true;
  copy.before(edit);

  function leaveEditor() {
    editing.stop();
    editing = { kernel: -1, stop: () => {} };
  }

  function mark(/** @type {number} */ pointed, /** @type {boolean} */ scroll) {
    if (!lines || !linked || !kernel) return;
    const pinned = secondOf(state.get().line, kernel.kernel);
    lines.mark(linesFor(links, linked, pinned, n), linesFor(links, linked, pointed, n), scroll);
  }

  async function load() {
    const number = ++request;
    const { parts, result, ready } = state.get();
    if (!parts || !result) return;
    // Without a selection, show the slowest kernel.
    const shown = shownKernel(result, state.get()) ?? longest(result.kernels);
    kernel = shown;
    if (shown && editing.kernel === shown.kernel) return;
    leaveEditor();
    body.classList.add("code");
    edit.hidden = true;
    choice.value = String(shown?.kernel ?? "");
    copy.hidden = true;
    part(root, "counts").textContent = "";
    if (!shown) return say(word(whyNone(result)));
    if (!shown.parts.includes(name))
      return say(
        shown.native ? absent(shown) : word("code.fallback", { words: shown.words }),
        result.kernels.filter((each) => each.inside === shown.kernel),
      );
    // Assembly is the last text to become available.
    if (name === "asm" && result.state === "running" && !ready.includes("listing"))
      return say(word("code.soon"));
    try {
      const [found, linking] = await Promise.all([
        parts.kernel(shown.kernel, name),
        linked && areLinked(state.get()) ? parts.links(shown.kernel).catch(() => null) : null,
      ]);
      if (number !== request) return;
      links = linking;
      text = found.text;
      steps = found.steps;
      note.hidden = found.cut === 0;
      note.textContent = word("code.cut", { n: found.cut });
      part(root, "counts").textContent = word("code.lines", {
        n: found.n_lines,
        count: formatCount(found.n_lines),
      });
      const isEdited = editable && splitEdited(state.get().edited).kernel === shown.kernel;
      copy.hidden = isEdited;
      body.classList.toggle("code", !isEdited);
      edit.hidden = !editable || isEdited || found.cut > 0;
      if (isEdited && work)
        editing = { kernel: shown.kernel, stop: mountScheduleEdit(body, state, work, shown, text) };
      else show(CHUNK);
    } catch (problem) {
      if (number !== request) return;
      const box = el("div", { class: "problem" });
      showProblem(box, asProblem(problem));
      body.replaceChildren(box);
    }
  }

  /** Return the reason for a missing text; a kernel without moves has loops but no schedule. @param {import("../../wire.js").Kernel} shown */
  function absent({ parts }) {
    return word(name === "schedule" && parts.includes("loops") ? "code.no-moves" : "code.absent");
  }

  /** @param {string} words @param {import("../../wire.js").Kernel[]} inside kernels with this text */
  function say(words, inside = []) {
    const links = inside.map((each) =>
      el(
        "li",
        {},
        el("span", { class: "muted" }, each.region),
        el(
          "button",
          { class: "link-button", type: "button", onclick: () => state.set(selectKernel(each)) },
          each.name,
        ),
      ),
    );
    body.replaceChildren(
      inside.length
        ? el(
            "div",
            { class: "code-inside" },
            el("p", {}, word("code.control")),
            el("ul", { class: "value-list" }, ...links),
          )
        : el("p", { class: "pane-empty" }, words),
    );
  }

  function row(/** @type {string} */ line, /** @type {number} */ i) {
    const number = el("span", { class: "code-number" }, String(i + 1));
    const title = steps[i]?.words ?? "";
    const content = el("span", { class: "code-text", title }, ...highlighted(name, line));
    if (!steps[i]) return el("div", { class: "code-line" }, number, content);
    // Each move unfolds to the loops after the move.
    const outline = steps[i].outline.split("\n");
    const fold = el(
      "details",
      { class: "code-step" },
      el("summary", {}, word("code.step")),
      el("pre", {}, ...outline.flatMap((each) => [...highlighted("loops", each), "\n"])),
    );
    content.append(foldOf(fold, state, "move", i + 1));
    return el("div", { class: "code-line" }, number, content);
  }

  function show(/** @type {number} */ limit) {
    const all = text.replace(/\n$/, "").split("\n");
    if (lines) {
      n = lines.show(all.slice(0, limit).join("\n"));
      mark(-1, true);
    } else
      body.replaceChildren(
        el(
          "div",
          { class: "code-lines", "data-language": name },
          ...all.slice(0, limit).map((line, i) => row(line, i)),
        ),
      );
    if (all.length > limit)
      body.append(moreLines(all.length - limit, () => show(Infinity)));
  }

  return together(
    () => (request += 1),
    leaveEditor,
    () => state.set({ preview: [] }),
    ...(lines ? [lines.stop] : []),
    listen(choice, {
      change: () => {
        const kernel = state
          .get()
          .result?.kernels.find((each) => String(each.kernel) === choice.value);
        if (kernel) state.set(selectKernel(kernel));
      },
    }),
    listen(copy, {
      click: () =>
        navigator.clipboard.writeText(text).then(
          () => (copy.textContent = word("code.copied")),
          () => (copy.textContent = word("code.not-copied")),
        ),
    }),
    state.watch(["result"], ({ result }) =>
      choice.replaceChildren(
        ...nested(result?.kernels ?? []).map(({ kernel: each, depth }) =>
          el(
            "option",
            { value: String(each.kernel) },
            `${"\u2003".repeat(depth)}${each.kernel}  ${each.name}${each.native ? "" : ` (${word("kernel.fallback")})`}`,
          ),
        ),
      ),
    ),
    state.watch(["parts", "result", "ready", "kernel", "selection", "at"], () => void load()),
    state.watch(["line"], () => mark(-1, true)),
    state.watch(["edited"], ({ edited }) => {
      const wanted = editable && kernel && splitEdited(edited).kernel === kernel.kernel;
      if (Boolean(wanted) === editing.kernel >= 0) return;
      leaveEditor();
      void load().then(() => (body.querySelector("textarea") ?? edit).focus());
    }),
  );
}
