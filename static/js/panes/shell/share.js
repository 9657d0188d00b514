// The dialog that shares a view: short link, HTML for embedding, full link, report, command line.
import { api, createParts, reportOf } from "../../server/api.js";
import { asProblem } from "../../jobs/compile.js";
import { clone, closest, listen, part, partOf } from "../../elements/dom.js";
import { formatBytes, formatCount } from "../../text/format.js";
import { embedMarkup } from "../../state/shared.js";
import { together } from "../../state/state.js";
import { toFragment, tooLong } from "../../state/url.js";
import { word } from "../../text/words.js";
import { LINK_CHARACTERS } from "../../text/writing.js";
import { showProblem } from "./problem.js";

/**
 * @typedef {import("../../state/page.js").PageState} PageState
 * @typedef {import("../../wire.js").Result} Result
 */

/**
 * @param {HTMLDialogElement} dialog
 * @param {PageState} state
 */
export function openShare(dialog, state) {
  dialog.replaceChildren(clone("share"));
  const fragment = toFragment(state.get());
  const stop = together(
    mountShortLink(dialog, fragment),
    mountReport(dialog, state, fragment),
    mountCopying(dialog),
    listen(part(dialog, "close"), { click: () => dialog.close() }),
    listen(dialog, { close: () => stop() }),
  );
  const [long] = tooLong(state.get());
  part(dialog, "too-long").hidden = !long;
  if (long)
    part(dialog, "too-long").textContent = word("share.too-long", {
      which: word(`share-text.${long.key}`),
      n: formatCount(long.n),
      limit: formatCount(LINK_CHARACTERS),
    });
  fill(dialog, "full", `${location.origin}/#${fragment}`);
  showCommands(dialog, state, fragment);
  if (!dialog.open) dialog.showModal();
}

/**
 * @param {HTMLElement} root
 * @param {string} name
 * @param {string} text
 */
function fill(root, name, text) {
  partOf(root, name, HTMLInputElement).value = text;
}

/**
 * @param {HTMLElement} root
 * @param {string} fragment
 */
function mountShortLink(root, fragment) {
  const make = partOf(root, "make", HTMLButtonElement);
  const making = part(root, "making");
  const problem = part(root, "problem");
  async function ask() {
    make.disabled = true;
    making.textContent = word("share.making");
    showProblem(problem, null);
    try {
      const link = await api.link(fragment);
      fill(root, "short", `${location.origin}${link.path}`);
      fill(root, "embed", embedMarkup(location.origin, link, document.title));
      part(root, "make-line").hidden = true;
      part(root, "short-line").hidden = false;
      part(root, "embed-line").hidden = false;
      const copy = root.querySelector('[data-copy="short"]');
      if (copy instanceof HTMLElement) copy.focus();
    } catch (thrown) {
      make.disabled = false;
      making.textContent = "";
      showProblem(problem, asProblem(thrown));
    }
  }
  return listen(make, { click: () => void ask() });
}

/**
 * @param {HTMLElement} root
 * @param {PageState} state
 * @param {string} fragment
 */
function mountReport(root, state, fragment) {
  const button = partOf(root, "report", HTMLButtonElement);
  const cancel = part(root, "report-cancel");
  const says = part(root, "reporting");
  const problem = part(root, "report-problem");
  let writing = new AbortController();
  function busy(/** @type {boolean} */ is, /** @type {string} */ words) {
    button.disabled = is;
    cancel.hidden = !is;
    says.textContent = words;
  }
  async function write() {
    const { job, result } = state.get();
    writing = new AbortController();
    const { signal } = writing;
    busy(true, word("share.reporting"));
    showProblem(problem, null);
    try {
      const file = await reportOf(job, fragment, signal);
      saveFile(file, `${result?.model.name ?? "model"}.report.html`);
      busy(false, word("share.reported", { size: formatBytes(file.size) }));
    } catch (thrown) {
      busy(false, "");
      if (!signal.aborted) showProblem(problem, asProblem(thrown));
    }
  }
  return together(
    listen(button, { click: () => void write() }),
    listen(cancel, { click: () => writing.abort() }),
    () => writing.abort(),
  );
}

/**
 * @param {Blob} file
 * @param {string} name
 */
function saveFile(file, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
}

/**
 * Bind the copy buttons next to fields.
 * @param {HTMLElement} root
 */
function mountCopying(root) {
  return listen(root, {
    click: async (event) => {
      const button = closest(event, "[data-copy]");
      if (!button) return;
      const field = partOf(root, button.dataset.copy ?? "", HTMLInputElement);
      field.select();
      let says = word("share.copied");
      try {
        await navigator.clipboard.writeText(field.value);
      } catch {
        // The browser denied access to the clipboard: select the text, so that the user can copy it by key.
        field.focus();
        says = word("share.by-hand");
      }
      for (const each of root.querySelectorAll("[data-copy]"))
        each.textContent = each === button ? says : word("share.copy");
      part(root, "copied").textContent = says;
    },
  });
}

/**
 * @param {HTMLElement} root
 * @param {PageState} state
 * @param {string} fragment
 */
function showCommands(root, state, fragment) {
  const { result, other, parts } = state.get();
  if (!result) return;
  parts?.beside().then(
    ({ report }) => {
      if (!report) return;
      // A fragment contains no quotes: an apostrophe is encoded as %27.
      fill(root, "report-command", `${report} --view '${fragment}'`);
      part(root, "report-line").hidden = false;
    },
    () => {}, // without the command, the button that saves the report remains
  );
  fill(root, "command", result.reproduce);
  part(root, "machine").textContent = word("share.machine", {
    host: result.host.name,
    versions: Object.entries(result.versions)
      .map((each) => each.join(" "))
      .join(", "),
  });
  if (!other) return;
  createParts(other)
    .result()
    .then(
      (b) => {
        fill(root, "other-command", b.reproduce);
        part(root, "other-line").hidden = false;
      },
      () => {}, // B has no command yet
    );
}

/**
 * Show a note that another version created the link, until the user dismisses it.
 * @param {import("../../wire.js").SharedLink} link
 */
export function noteVersion(link) {
  noteLink(word("share.other-version", { made: link.made_with, now: link.program }));
}

/**
 * Show a note about the opened link, until the user dismisses it.
 * @param {string} words
 */
export function noteLink(words) {
  const note = document.createElement("div");
  note.className = "link-note";
  note.setAttribute("role", "status");
  const says = document.createElement("p");
  says.textContent = words;
  const close = document.createElement("button");
  close.className = "button";
  close.textContent = word("share.other-version-close");
  close.addEventListener("click", () => note.remove());
  note.append(says, close);
  document.body.append(note);
}
