// Marks the first occurrence of each term of the glossary in each view, and shows its definition on hover,
// focus and touch. Terms are found in the page's own words only: see text/terms.js.
import { closest, el, listen } from "../../elements/dom.js";
import { together } from "../../state/state.js";
import { declareTerms, notedPieces } from "../../text/terms.js";
import { word } from "../../text/words.js";

/** Views; each marks a term once. */
const VIEWS = ".tour, .walk-passes, .pane, .start-scroll";

/** Blocks whose words may be marked. */
const BLOCKS = "p, dd, dt, li, .muted, .pane-note";

/** Controls, code, headings, and regions that assistive technology reads when they change. */
const EXCLUDED =
  "button, a, summary, label, select, option, textarea, h1, h2, h3, th, caption, code, pre, kbd, svg, .mono, " +
  "strong, .kernel-name, [role=radiogroup], [role=status]:not(.tour-says), [hidden], .term-card, .visually-hidden";

const SCAN_AFTER_MS = 60;
const HIDE_AFTER_MS = 250;
/** Distance of a definition from its term and from the edges of the window, in pixels. */
const GAP = 6;

/**
 * Mark terms below `root`, now and after each change.
 * @param {HTMLElement} root
 * @returns {() => void}
 */
export function mountTerms(root) {
  const template = document.getElementById("glossary");
  if (!(template instanceof HTMLTemplateElement)) return () => {};
  const definitions = new Map(
    [...template.content.querySelectorAll("[data-term]")].map((note) => [note.getAttribute("data-term") ?? "", note]),
  );
  declareTerms(
    [...definitions].map(([id, note]) => ({ id, forms: (note.getAttribute("data-forms") ?? "").split("|") })),
  );
  const notes = el("div", { hidden: true });
  document.body.append(notes);

  /** Return the id of the description of a term for assistive technology. @param {string} id */
  function describedBy(id) {
    const name = `term-note-${id}`;
    if (!document.getElementById(name))
      notes.append(el("span", { id: name }, definitions.get(id)?.textContent ?? ""));
    return name;
  }

  function scan() {
    for (const view of root.querySelectorAll(VIEWS)) markView(view, describedBy);
    observer.takeRecords();
  }

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  const observer = new MutationObserver((records) => {
    clearTimeout(waiting);
    // A live region must have its terms before it is read.
    if (records.some(({ target }) => target instanceof Element && target.closest(".tour-says"))) scan();
    else waiting = setTimeout(scan, SCAN_AFTER_MS);
  });
  observer.observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["hidden", "open"] });
  return together(
    mountCards(definitions, template.dataset.page ?? ""),
    () => observer.disconnect(),
    () => clearTimeout(waiting),
    () => notes.remove(),
  );
}

/**
 * Mark the first occurrence of each term in a view, and remove the marks of later occurrences.
 * @param {Element} view
 * @param {(id: string) => string} describedBy
 */
function markView(view, describedBy) {
  /** @type {Set<string>} */
  const seen = new Set();
  const walker = document.createTreeWalker(view, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, (node) => {
    if (!(node instanceof Element)) return NodeFilter.FILTER_ACCEPT;
    if (node.matches(".term")) return NodeFilter.FILTER_ACCEPT;
    const closed = node.parentElement?.matches("details:not([open])") && !node.matches("summary");
    return closed || node.matches(EXCLUDED) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
  });
  /** @type {Node[]} */
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (const node of nodes) {
    if (node instanceof HTMLElement) unmarkIfSeen(node, seen);
    else if (node.parentElement?.matches(".term") === false) markText(/** @type {Text} */ (node), seen, describedBy);
  }
}

/** @param {HTMLElement} term @param {Set<string>} seen */
function unmarkIfSeen(term, seen) {
  const id = term.dataset.term ?? "";
  const parent = term.parentElement;
  if (seen.has(id) && term !== document.activeElement) {
    term.replaceWith(term.textContent ?? "");
    parent?.normalize();
  }
  seen.add(id);
}

/** @param {Text} text @param {Set<string>} seen @param {(id: string) => string} describedBy */
function markText(text, seen, describedBy) {
  const pieces = notedPieces(text.data);
  if (!pieces || !text.parentElement?.closest(BLOCKS)) return;
  const made = pieces.map((piece) => {
    if (typeof piece === "string" || seen.has(piece.id)) return typeof piece === "string" ? piece : piece.text;
    seen.add(piece.id);
    const term = el("button", { type: "button", class: "term", "aria-describedby": describedBy(piece.id) }, piece.text);
    term.dataset.term = piece.id;
    return term;
  });
  if (made.some((each) => typeof each !== "string")) text.replaceWith(...made);
}

/**
 * Show the definition of a term while the pointer or the focus is on it, and after a click or touch.
 * @param {Map<string, Element>} definitions
 * @param {string} page address of the glossary, "" if there is none
 */
function mountCards(definitions, page) {
  /** @type {HTMLElement | null} */
  let card = null;
  /** @type {HTMLElement | null} */
  let shown = null;
  let isPinned = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let leaving;

  function hide() {
    clearTimeout(leaving);
    card?.remove();
    card = shown = null;
    isPinned = false;
  }

  /** @param {HTMLElement} term */
  function show(term) {
    clearTimeout(leaving);
    if (shown === term && card?.isConnected) return;
    hide();
    const id = term.dataset.term ?? "";
    const note = definitions.get(id);
    if (!note) return;
    // The definition follows its term, so that Tab reaches the link of a pinned definition.
    card = el("span", { class: "term-card", "aria-live": "off" }, ...note.cloneNode(true).childNodes);
    if (page)
      card.append(" ", el("a", { href: `${page}#${id}`, target: "_blank", rel: "noopener", tabIndex: -1 }, word("terms.more")));
    const { lesson, lessonTitle = "" } = /** @type {HTMLElement} */ (note).dataset;
    if (page && lesson)
      card.append(" ", el("a", { href: lesson, target: "_blank", rel: "noopener", tabIndex: -1 }, word("terms.lesson", { title: lessonTitle })));
    shown = term;
    term.after(card);
    place(term, card);
  }

  const leave = () => {
    clearTimeout(leaving);
    if (!isPinned) leaving = setTimeout(hide, HIDE_AFTER_MS);
  };
  const termOf = (/** @type {Event} */ event) => closest(event, ".term");
  const isInside = (/** @type {Event} */ event) => closest(event, ".term-card") !== null;

  return together(
    listen(document, {
      pointerover: (event) => {
        const term = termOf(event);
        if (term && event.pointerType === "mouse") show(term);
        else if (isInside(event)) clearTimeout(leaving);
      },
      pointerout: (event) => {
        if (event.pointerType === "mouse" && (termOf(event) || isInside(event)) && document.activeElement !== shown) leave();
      },
      pointerdown: (event) => {
        if (card && !termOf(event) && !isInside(event)) hide();
      },
      focusin: (event) => {
        const term = termOf(event);
        if (term) show(term);
        else if (card && !isInside(event)) hide();
      },
      focusout: (event) => {
        const to = event.relatedTarget;
        if (card && termOf(event) && !(to instanceof Node && card.contains(to)) && !isPinned) hide();
      },
      click: (event) => {
        const term = termOf(event);
        if (!term) return;
        show(term);
        isPinned = true;
        for (const link of card?.querySelectorAll("a") ?? []) link.tabIndex = 0;
      },
    }),
    listen(
      document,
      {
        keydown: (/** @type {KeyboardEvent} */ event) => {
          if (event.key !== "Escape" || !card) return;
          const term = shown;
          const had = card.contains(document.activeElement);
          hide();
          if (had) term?.focus();
          if (had) hide();
          event.preventDefault();
          event.stopPropagation();
        },
        scroll: () => card && shown && place(shown, card),
      },
      { capture: true },
    ),
    hide,
  );
}

/** @param {HTMLElement} term @param {HTMLElement} card */
function place(term, card) {
  const at = term.getBoundingClientRect();
  const { width, height } = card.getBoundingClientRect();
  const left = Math.max(GAP, Math.min(at.left, innerWidth - width - GAP));
  const below = at.bottom + GAP;
  const top = below + height > innerHeight ? Math.max(GAP, at.top - height - GAP) : below;
  card.style.left = `${left}px`;
  card.style.top = `${top}px`;
}
