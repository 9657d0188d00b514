// The code of a kernel for a target, with lines linked to the Loop IR.
import { clone, el, listen, part, partOf } from "../../elements/dom.js";
import { formatCount } from "../../text/format.js";
import { LINKED, linesFor, loopLine } from "../../text/links.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { highlighted, mountCodeLines } from "./code_lines.js";

/**
 * @typedef {import("../../wire.js").TargetCode} TargetCode
 * @typedef {"asm" | "llvm" | "loops" | "schedule"} Level
 */

/**
 * @param {HTMLElement} root
 * @param {string} label label of the selection field
 * @param {(target: string) => void} onChoose
 * @param {{get: () => number, set: (line: number) => void}} pin pinned line of the Loop IR for this target, -1 for none
 */
export function mountSide(root, label, onChoose, pin) {
  root.replaceChildren(clone("pane-targets-side"));
  const choice = partOf(root, "target", HTMLSelectElement);
  const body = part(root, "code");
  choice.setAttribute("aria-label", label);
  /** @type {import("./code_lines.js").CodeLines | null} */
  let lines = null;
  /** @type {TargetCode | null} */
  let code = null;
  /** @type {Level} */
  let level = "asm";
  let n = 0;

  const linked = () => LINKED.find((each) => each === level);
  const links = () => code && { version: 1, kernel: code.kernel, ...code.links };

  function mark(/** @type {number} */ pointed, /** @type {boolean} */ scroll) {
    const text = linked();
    if (lines && text)
      lines.mark(linesFor(links(), text, pin.get(), n), linesFor(links(), text, pointed, n), scroll);
  }

  function draw() {
    lines?.stop();
    lines = null;
    if (!code) return;
    const text = linked();
    const shown = code[level];
    n = shown.split("\n").length;
    part(root, "counts").textContent = word("targets.lines", { n, count: formatCount(n) });
    body.dataset.code = `${code.target} ${level}`;
    const name = word("targets.code-of", { level: word(`pane.${level}`), target: code.target });
    if (!text) {
      const rows = shown.split("\n").map((line, i) =>
        el(
          "div",
          { class: "code-line" },
          el("span", { class: "code-number" }, String(i + 1)),
          el("span", { class: "code-text" }, ...highlighted(level, line)),
        ),
      );
      body.replaceChildren(
        el("div", { class: "code-lines", "data-language": level, tabIndex: 0, role: "region", "aria-label": name }, ...rows),
      );
      return;
    }
    lines = mountCodeLines(body, text, name, {
      pick: (line) => {
        const loop = loopLine(links(), text, line);
        pin.set(loop === pin.get() ? -1 : loop);
        mark(-1, false);
      },
      point: (line) => mark(line < 0 ? -1 : loopLine(links(), text, line), false),
    });
    lines.show(shown);
    mark(-1, true);
  }

  return {
    /** @param {string[]} names @param {string} chosen */
    offer(names, chosen) {
      choice.hidden = names.length < 2;
      part(root, "title").textContent = choice.hidden ? chosen : "";
      choice.replaceChildren(...names.map((name) => el("option", { value: name }, name)));
      choice.value = chosen;
    },
    /** @param {TargetCode} found @param {Level} at */
    show(found, at) {
      if (code && (found.target !== code.target || found.kernel !== code.kernel)) pin.set(-1);
      code = found;
      level = at;
      draw();
    },
    /** @param {string} words text shown instead of code */
    say(words) {
      lines?.stop();
      lines = null;
      code = null;
      part(root, "counts").textContent = "";
      body.replaceChildren(el("p", { class: "pane-empty" }, words));
    },
    stop: together(
      listen(choice, { change: () => onChoose(choice.value) }),
      () => lines?.stop(),
    ),
  };
}
