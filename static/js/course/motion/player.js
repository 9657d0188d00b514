// The player of moving pictures: play and pause, steps, a slider, and the text of each frame.
import { el, listen } from "../../elements/dom.js";
import { word } from "../../text/words.js";
import { svg } from "../svg.js";
import { createPlayback, paceOf } from "./playback.js";

/**
 * @typedef {object} Moving
 * @property {string} name accessible name
 * @property {number} n number of frames
 * @property {number} [paceMs] time of a frame
 * @property {SVGSVGElement} picture
 * @property {[kind: string, words: string][]} legend
 * @property {(frame: number) => string} text
 * @property {(frame: number) => void} draw
 */

/** Share of a picture that must be on screen. */
const VISIBLE = 0.4;

const ICONS = {
  play: "M5 3.2 12.4 8 5 12.8z",
  pause: "M5.4 3.5v9M10.6 3.5v9",
  back: "M9.8 3.8 5.6 8l4.2 4.2",
  forward: "M6.2 3.8 10.4 8l-4.2 4.2",
};

/** The picture that plays: there is one at most. @type {import("./playback.js").Playback | null} */
let playing = null;

/** Players on the page, which show their last frames on paper. @type {Set<{root: Element, print: (isPaper: boolean) => void}>} */
const players = new Set();

/** @param {boolean} isPaper */
function printAll(isPaper) {
  for (const each of players) {
    if (each.root.isConnected) each.print(isPaper);
    else players.delete(each);
  }
}

let isWatchingPaper = false;

function watchPaper() {
  if (isWatchingPaper) return;
  isWatchingPaper = true;
  matchMedia("print").addEventListener("change", ({ matches }) => printAll(matches));
  listen(window, { beforeprint: () => printAll(true), afterprint: () => printAll(false) });
}

/** @param {Moving} moving @returns {HTMLElement} */
export function player({ name, n, paceMs = paceOf(n), picture, legend, text, draw }) {
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  const button = (/** @type {"play" | "back" | "forward"} */ kind, /** @type {() => void} */ onclick) =>
    el("button", { class: "icon-button player-button", type: "button", "aria-label": word(`moving.${kind}`), onclick }, icon(kind));
  const play = button("play", () => playback.toggle());
  const back = button("back", () => playback.go(playback.frame() - 1));
  const forward = button("forward", () => playback.go(playback.frame() + 1));
  const slider = el("input", { class: "player-slider", type: "range", min: "0", max: String(n - 1), step: "1", value: "0", "aria-label": word("moving.frame") });
  const count = el("span", { class: "player-count" });
  const says = el("p", { class: "player-text", "aria-live": "polite" });
  const root = el(
    "div",
    { class: "player", role: "group", "aria-label": name },
    el("div", { class: "player-head" }, el("div", { class: "player-bar" }, play, back, slider, forward, count), says),
    el("div", { class: "player-picture" }, picture),
    legend.length > 0 &&
      el("ul", { class: "player-legend" }, ...legend.map(([kind, words]) => el("li", {}, swatch(kind), words))),
  );

  /** @param {number} frame */
  function show(frame) {
    draw(frame);
    const words = text(frame);
    says.textContent = words;
    slider.value = String(frame);
    slider.setAttribute("aria-valuetext", words);
    count.textContent = word("moving.count", { frame: frame + 1, n });
    back.disabled = frame === 0;
    forward.disabled = frame === n - 1;
  }

  /** @param {import("./playback.js").Cause} cause */
  function change(cause) {
    const isPlaying = playback.isPlaying();
    if (isPlaying && playing !== playback) {
      playing?.pause();
      playing = playback;
    }
    // The slider speaks its own text, and a text that changes several times a second disturbs.
    says.setAttribute("aria-live", isPlaying || cause === "slide" ? "off" : "polite");
    play.replaceChildren(icon(isPlaying ? "pause" : "play"));
    play.setAttribute("aria-label", word(isPlaying ? "moving.pause" : "moving.play"));
    root.toggleAttribute("data-playing", isPlaying);
    keepFocus(() => show(playback.frame()));
  }

  /** A button that becomes disabled loses the focus, so the slider takes it. @param {() => void} act */
  function keepFocus(act) {
    const focused = document.activeElement;
    act();
    if ((focused === back && back.disabled) || (focused === forward && forward.disabled)) slider.focus();
  }

  const playback = createPlayback({
    n,
    paceMs,
    change,
    mayBegin: () => !reduced.matches && !playing?.isPlaying(),
  });

  slider.addEventListener("input", () => playback.go(Number(slider.value), "slide"));
  root.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const isOnSlider = event.target === slider;
    const act = keyActions(playback, n)[event.key];
    if (!act || (isOnSlider && event.key !== " ") || (!isOnSlider && event.key === " ")) return;
    event.preventDefault();
    act();
  });
  const seen = new IntersectionObserver(
    (entries) => {
      const last = entries[entries.length - 1];
      playback.see(last.isIntersecting && (last.intersectionRatio >= VISIBLE || fills(last)));
      if (!root.isConnected) seen.disconnect();
    },
    { threshold: [0, 0.2, VISIBLE, 0.6, 0.8] },
  );
  seen.observe(root);
  watchPaper();
  players.add({ root, print: (isPaper) => show(isPaper ? n - 1 : playback.frame()) });
  show(0);
  return root;
}

/** Whether a picture fills most of the screen, as one that is taller than the screen. @param {IntersectionObserverEntry} entry */
function fills({ intersectionRect, rootBounds }) {
  return rootBounds !== null && intersectionRect.height >= 0.6 * rootBounds.height;
}

/**
 * Return what keys do; the slider has its own arrows, and Space presses a button.
 * @param {import("./playback.js").Playback} playback
 * @param {number} n
 * @returns {Record<string, () => void>}
 */
function keyActions(playback, n) {
  return {
    " ": () => playback.toggle(),
    ArrowRight: () => playback.go(playback.frame() + 1),
    ArrowLeft: () => playback.go(playback.frame() - 1),
    Home: () => playback.go(0),
    End: () => playback.go(n - 1),
  };
}

/** @param {keyof typeof ICONS} kind */
function icon(kind) {
  return svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true", class: `player-icon player-icon-${kind}` }, svg("path", { d: ICONS[kind] }));
}

/** @param {string} kind class of the marks in the picture */
function swatch(kind) {
  return svg("svg", { viewBox: "0 0 14 14", "aria-hidden": "true", class: "player-swatch" }, svg("rect", { class: kind, x: 1.5, y: 1.5, width: 11, height: 11 }));
}
