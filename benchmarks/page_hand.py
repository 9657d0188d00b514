"""Simulated user actions on a measured page, and waiting for their effects.

Waiting happens inside the page, frame by frame. A Playwright assertion instead polls the page, and
each poll serialises the document: tens of milliseconds of the measured thread.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

WATCH = """
window.measured = {frames: []};
window.nextPaint = () => new Promise((done) => requestAnimationFrame(() => {
  const {port1, port2} = new MessageChannel();  // the message arrives after the frame is painted
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
"""Script that runs in each page before the page's scripts, and records paint times."""

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
    """Upload a file and press Compile; return milliseconds from the choice to the painted graph."""
    page.evaluate(WATCH_UPLOAD)
    page.locator("[data-part=file]").set_input_files(path)
    return page.evaluate(CHOSEN)


def wait_for_end(page: Page) -> None:
    """Wait until the page's job ends."""
    page.evaluate(BUSY, ["", True])


def stop_after_passes(page: Page) -> None:
    """Stop the job after its passes, since machine code takes longer than all passes."""
    page.evaluate(BUSY, ["Making machine code", False])
    page.evaluate("document.querySelector('[data-part=halt]').click()")
    wait_for_end(page)
