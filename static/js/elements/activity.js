// The first sign that somebody uses the page.

const SIGNS = ["pointermove", "pointerdown", "touchstart", "keydown", "focusin", "change", "dragenter", "drop"];

/**
 * Run a function once, at the first sign of activity, after the page has loaded.
 * @param {() => void} work
 * @param {EventTarget} [page]
 */
export function whenActive(work, page = globalThis) {
  const act = () => {
    for (const sign of SIGNS) page.removeEventListener(sign, act, { capture: true });
    work();
  };
  for (const sign of SIGNS) page.addEventListener(sign, act, { capture: true, passive: true });
}
