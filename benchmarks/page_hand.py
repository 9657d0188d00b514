"""The hand on a page that is measured: what it presses, and how it waits.

It waits inside the page, frame by frame. An assertion of Playwright looks at the page again and
again until it holds, and reads all of it out each time: tens of milliseconds of the thread that is
measured.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

WATCH = """
window.measured = {frames: []};
window.nextPaint = () => new Promise((done) => requestAnimationFrame(() => {
  const {port1, port2} = new MessageChannel();  // its message comes after the frame is painted
  port1.onmessage = () => done(performance.now());
  port2.postMessage(null);
}));
window.painted = async (holds) => {
  while (!holds()) await nextPaint();
  return nextPaint();
};
window.recordFrames = () => {
  let last = performance.now();
  measured.frames = [];
  const each = (now) => {
    measured.frames.push(now - last);
    last = now;
    measured.recording = requestAnimationFrame(each);
  };
  measured.recording = requestAnimationFrame(each);
};
"""
"""Put into every page before its own scripts: when something was painted."""

STEP = """
async ([key, stage]) => {
  const there = document.querySelector("[data-part=stage]");
  document.activeElement?.blur();
  const start = performance.now();
  const event = new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true});
  document.body.dispatchEvent(event);
  const end = await painted(() => there.dataset.stage !== stage);
  return [end - start, there.dataset.stage];
}
"""

WATCH_UPLOAD = """
document.querySelector("[data-part=file]").addEventListener(
  "change", () => { measured.chosen = performance.now(); }, true)
"""

CHOSEN = """
async () => {
  const compile = document.querySelector("[data-part=compile]");
  await painted(() => compile.disabled === false);
  compile.click();
  const end = await painted(() => {
    const stage = document.querySelector("[data-part=stage]");
    return stage?.dataset.layout === "ready" && Number(stage.dataset.drawn) > 0;
  });
  return end - measured.chosen;
}
"""


BUSY = """
([words, isStopped]) => painted(() => {
  const busy = document.querySelector(".header-busy")?.textContent ?? "";
  return isStopped ? busy === "" : busy.includes(words);
})
"""


def upload(page: Page, path: Path) -> float:
    """Milliseconds from the choice of a file to its painted graph; Compile is pressed between."""
    page.evaluate(WATCH_UPLOAD)
    page.locator("[data-part=file]").set_input_files(path)
    return page.evaluate(CHOSEN)


def wait_for_end(page: Page) -> None:
    """Until nothing is being made any more."""
    page.evaluate(BUSY, ["", True])


def stop_after_passes(page: Page) -> None:
    """The walk needs no machine code, which takes longer than all passes."""
    page.evaluate(BUSY, ["Making machine code", False])
    page.evaluate("document.querySelector('[data-part=halt]').click()")
    wait_for_end(page)
