// The dialog with the list of keys, generated from the table of bindings.
import { clone, el, listen, part, partOf } from "../../elements/dom.js";
import { KEYS, setSingleKeys, singleKeys } from "../../elements/keys.js";
import { word } from "../../text/words.js";

const PLAIN = /** @type {Record<string, string>} */ ({
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  " ": "Space",
  Escape: "Esc",
  Control: "Ctrl",
});

/**
 * @param {HTMLDialogElement} dialog
 * @param {() => boolean | void} [tour] starts the tour; absent before a compilation
 */
export function openHelp(dialog, tour) {
  dialog.replaceChildren(clone("help"));
  const groups = [
    {
      title: "help.walk",
      keys: KEYS.filter((key) => key.where === "walk" && key.scope === "page"),
    },
    { title: "help.graph", keys: KEYS.filter((key) => key.scope === "graph") },
    { title: "help.elsewhere", keys: KEYS.filter((key) => key.where !== "walk") },
  ];
  part(dialog, "tables").append(
    ...groups.flatMap(({ title, keys }) => [el("h3", {}, word(title)), tableOf(keys)]),
  );
  const single = partOf(dialog, "single", HTMLInputElement);
  single.checked = singleKeys();
  listen(single, { change: () => setSingleKeys(single.checked) });
  // A report is a file, without the page of the glossary.
  const page = document.getElementById("glossary")?.dataset.page;
  if (page)
    part(dialog, "help-glossary").append(
      el("a", { href: page, target: "_blank", rel: "noopener" }, word("help.glossary")),
    );
  part(dialog, "help-tour").hidden = !tour;
  listen(part(dialog, "take-tour"), {
    click: () => {
      dialog.close();
      tour?.();
    },
  });
  listen(part(dialog, "close"), { click: () => dialog.close() });
  if (!dialog.open) dialog.showModal();
}

/** @param {readonly import("../../elements/keys.js").Key[]} keys */
function tableOf(keys) {
  return el(
    "table",
    { class: "keys-table" },
    el(
      "tbody",
      {},
      ...keys.map((key) =>
        el(
          "tr",
          { "data-key": key.id },
          el("td", {}, ...key.keys.flatMap((chord, i) => [i ? " " : "", kbd(chord)])),
          el("td", {}, word(`key.${key.id}`)),
        ),
      ),
    ),
  );
}

/** @param {string} chord */
function kbd(chord) {
  const pieces = chord === "+" ? ["+"] : chord.split("+");
  return el("kbd", {}, pieces.map((piece) => PLAIN[piece] ?? piece).join(" "));
}
