// The tour: five stops over the views of a compilation, with the figures of the model. A newcomer is
// invited after the first compilation; anyone can start it again. The URL has the number of the stop.
import { clone, closest, el, listen, part, partOf } from "../../elements/dom.js";
import { rememberTour } from "../../state/newcomer.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { watchFacts } from "./facts.js";
import { mountWithout, showWithout } from "../passes/without.js";
import { FUSE } from "./fusion_stop.js";
import { sentence } from "./said.js";
import { STOPS, stopOf } from "./stops.js";

/**
 * @typedef {import("../../state/page.js").PageState} PageState
 * @typedef {import("./stops.js").Facts} Facts
 */

/**
 * @param {HTMLElement} root
 * @param {PageState} state
 * @param {HTMLElement} side the panes, which small windows scroll into view
 * @returns {{stop: () => void, actions: Record<string, () => boolean | void>}}
 */
export function mountTour(root, state, side) {
  root.replaceChildren(clone("tour"));
  const next = partOf(root, "tour-next", HTMLButtonElement);
  const back = partOf(root, "tour-back", HTMLButtonElement);
  const compare = part(root, "tour-compare");
  /** @type {Facts | null} */
  let facts = null;
  part(root, "tour-stops").append(...STOPS.map(stopButton));

  const isInvited = () => {
    const { invited, tour, progress, result } = state.get();
    return tour === 0 && invited && progress.state === "" && result?.complete === true;
  };

  /** @param {number} number the stop to show, from 1 */
  function go(number) {
    if (number < 1 || number > STOPS.length || !facts) return;
    const { move } = stopOf(number, facts);
    state.set({ ...move, tour: number, invited: false });
    rememberTour();
    reveal();
  }

  function close() {
    const { tour, invited } = state.get();
    if (tour === 0 && !invited) return;
    if (root.contains(document.activeElement)) document.getElementById("main")?.focus();
    rememberTour();
    state.set({ tour: 0, invited: false });
  }

  /** In a small window the page scrolls: bring the view of the stop below the text. */
  function reveal() {
    requestAnimationFrame(() => {
      const page = root.parentElement;
      if (!page || page.scrollHeight <= page.clientHeight) return;
      page.scrollTo({ top: side.offsetTop - page.offsetTop - root.offsetHeight });
    });
  }

  function forward() {
    const { tour } = state.get();
    if (tour === STOPS.length) close();
    else go(tour + 1);
  }

  function draw() {
    const { tour } = state.get();
    const invites = isInvited();
    root.hidden = (tour === 0 && !invites) || facts === null;
    if (root.hidden || !facts) return;
    root.toggleAttribute("data-invites", invites);
    const stop = tour > 0 ? stopOf(tour, facts) : null;
    if (stop) root.dataset.stop = stop.id;
    else delete root.dataset.stop;
    root.toggleAttribute("data-absent", stop?.applies === false);
    part(root, "tour-title").textContent = word(stop ? `tour-stop.${stop.id}` : "tour.title", {
      model: facts.result.model.name,
    });
    part(root, "tour-count").textContent = stop ? word("tour.count", { n: tour, all: STOPS.length }) : "";
    const said = stop ? stop.says.flatMap((each) => [...sentence(each), " "]) : [word("tour.invite")];
    const drawn = el("p", {}, ...said);
    const text = part(root, "tour-text");
    // A live region: equal text must not be announced again.
    if (text.textContent !== drawn.textContent) text.replaceChildren(...drawn.childNodes);
    for (const [i, button] of [...root.querySelectorAll("[data-stop-number]")].entries()) {
      if (i + 1 === tour) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    }
    back.hidden = tour < 2;
    next.textContent = word(tour === 0 ? "tour.start" : tour === STOPS.length ? "tour.finish" : "tour.next");
    if (stop?.id === "fusion" && stop.applies && !facts.unfused) showWithout(compare, state, FUSE);
    else compare.hidden = true;
  }

  const stop = together(
    watchFacts(state, (found) => {
      facts = found;
      draw();
    }),
    state.watch(["tour", "invited", "progress", "work"], draw),
    listen(next, { click: forward }),
    listen(back, { click: () => go(state.get().tour - 1) }),
    mountWithout(compare, state, () => FUSE, reveal),
    listen(part(root, "tour-close"), { click: close }),
    listen(root, {
      click: (event) => {
        const number = closest(event, "[data-stop-number]")?.dataset.stopNumber;
        if (number !== undefined) go(Number(number));
      },
      keydown: (event) => {
        if (event.key === "Escape") close();
        else if (event.key === "ArrowRight") go(state.get().tour + 1);
        else if (event.key === "ArrowLeft") go(state.get().tour - 1);
        else return;
        event.preventDefault();
      },
    }),
  );
  return {
    stop,
    actions: {
      tour: () => go(1),
      "next-stop": () => go(state.get().tour + 1),
      "previous-stop": () => go(state.get().tour - 1),
    },
  };
}

/** @param {string} id @param {number} index */
function stopButton(id, index) {
  const button = el(
    "button",
    { type: "button", class: "tour-stop" },
    el("span", { class: "tour-number", "aria-hidden": "true" }, String(index + 1)),
    el("span", { class: "tour-name" }, word(`tour-stop.${id}`)),
  );
  button.dataset.stopNumber = String(index + 1);
  return el("li", {}, button);
}

