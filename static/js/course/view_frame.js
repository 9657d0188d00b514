// A pane of the playground inside a lesson: a frame with the read-only view of a state. It loads when it is in sight.
// Its place has the same size before, while and after it loads.
import { el, listen } from "../elements/dom.js";
import { showProblem } from "../panes/shell/problem.js";
import { word } from "../text/words.js";
import { createGate } from "./gate.js";

/** @typedef {import("../state/page.js").PageProblem} PageProblem */

/**
 * @param {string} address of the view
 * @param {string} title name of the frame for screen readers
 * @param {(address: string) => void} moved receives the address of the playground at the reader's position
 */
export function createViewFrame(address, title, moved) {
  const place = emptyPlace("view.later");
  const gate = createGate(() => load(false));
  const observer = new IntersectionObserver((entries) => gate.see(entries[entries.length - 1].isIntersecting));
  observer.observe(place);

  /** @param {boolean} hasFocus whether the view takes the focus when it appears */
  function load(hasFocus) {
    observer.disconnect();
    place.dataset.state = "loading";
    const frame = el("iframe", { class: "view-frame", title });
    let isStarted = false;
    let isAwaited = hasFocus;
    listen(frame, {
      // The view tells its state by this event (panes/shell/own_view.js).
      view: (/** @type {CustomEvent<import("../panes/shell/own_view.js").ViewState>} */ { detail }) => {
        isStarted = true;
        const { problem } = detail;
        // The view runs its script to the end before its frame goes.
        if (detail.state === "failed" && problem) return queueMicrotask(() => frame.isConnected && fail(problem));
        place.dataset.state = detail.state;
        if (isAwaited) frame.focus({ preventScroll: true });
        isAwaited = false;
        if (detail.state === "shown") moved(detail.address);
      },
      load: () => {
        if (isStarted || !frame.isConnected) return;
        fail({ code: "E-SERVER-AWAY", message: word("view.absent"), hint: word("view.absent-hint") });
      },
    });
    frame.src = address;
    place.replaceChildren(note("view.loading"), frame);
  }

  /** @param {PageProblem} problem */
  function fail(problem) {
    place.dataset.state = "failed";
    const box = el("div", { class: "problem", role: "alert" });
    const again = el("button", { class: "button", type: "button", onclick: () => load(true) }, word("view.retry"));
    place.replaceChildren(el("div", { class: "view-problem" }, box, el("p", {}, again)));
    showProblem(box, problem);
  }

  return {
    place,
    /** Permit or forbid the view to start its compilation. @param {boolean} isAllowed */
    allow: (isAllowed) => gate.allow(isAllowed),
    stop() {
      observer.disconnect();
      gate.allow(false);
    },
  };
}

/**
 * Return the place of a view without the view, with the words of this key.
 * @param {string} key
 */
export function emptyPlace(key) {
  return el("div", { class: "view", "data-state": "waiting" }, note(key));
}

/** @param {string} key */
function note(key) {
  return el("p", { class: "view-note" }, word(key));
}
