"""Screenshots of all views for docs/tour.md and README.md: `make screenshots`.

    python -m tests.browser.screenshot FOLDER [VIEW...]

With names of views, only these views are saved.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.browser import chromium
from tests.browser.playground import COMPILE_MS, Playground
from tests.browser.serving import served

SAMPLE, PASS, NODE = "squeezenet", "fuse", "n63"
SIZES = {"wide": (1440, 900), "phone": (390, 844)}
COLORS = 256
"""Number of colours in a picture's palette, enough for rare hues; it reduces files to a third."""

View = tuple[str, Callable[[Playground], object]]


def views() -> Iterator[View]:
    """Yield the name of each view, after the steps that lead from the previous view to it."""
    yield "start", lambda playground: playground.open()
    yield "write", write
    yield "tour", tour
    yield "walk", walk
    yield "table", lambda playground: playground.press("v")
    yield "steps", steps
    for pane in ("text", "node", "numerics", "stack", "memory", "kernels", "devices", "timing"):
        yield pane, to_pane(pane)
    for pane in ("run", "profile", "roofline", "tuning", "computation", "schedule"):
        yield pane, to_pane(pane)
    yield "edit", edit
    for pane in ("loops", "llvm", "asm", "targets"):
        yield pane, to_pane(pane)
    yield "compare", compare
    yield "share", lambda playground: playground.part("share").click()
    yield "keys", keys
    yield "glossary", lambda playground: playground.page.goto("/glossary")


def write(playground: Playground) -> None:
    """Show a text with an error."""
    playground.part("write-examples").get_by_role("button", name="mlp").click()
    expect(playground.part("write-says")).to_contain_text("nodes", timeout=COMPILE_MS)
    text = playground.part("write-text")
    text.fill(text.input_value().replace("relu", "rleu", 1))
    expect(playground.page.locator(".write-mark")).to_have_count(1)
    playground.part("write").scroll_into_view_if_needed()


def tour(playground: Playground) -> None:
    """Show the first stop of the tour."""
    playground.part("write-close").click()
    playground.pick(SAMPLE).compile()
    expect(playground.part("tour-next")).to_be_visible(timeout=COMPILE_MS)
    expect(playground.part("stage")).to_have_attribute("data-layout", "ready")


def walk(playground: Playground) -> None:
    """Show a pass with many applied and declined steps."""
    playground.part("tour-close").click()
    names = playground.page.locator(".pass-row .pass-name")
    names.get_by_text(PASS, exact=True).click()
    expect(playground.part("stage")).to_have_attribute("data-layout", "ready")


def steps(playground: Playground) -> None:
    """Show the steps of this pass, with a node selected in this and all later views."""
    playground.press("v")
    to_pane("steps")(playground)
    playground.part("search").fill(NODE)
    playground.part("search").press("Enter")
    playground.part("search").fill("")  # during a search, all other nodes are pale


def to_pane(name: str) -> Callable[[Playground], None]:
    """Open a pane, and wait for the data that it requests."""

    def go(playground: Playground) -> None:
        pane = playground.show_pane(name)
        if name == "numerics":
            pane.locator("[data-part=start]").click()
            expect(playground.page.locator('#pane[data-checked="done"]')).to_be_visible(
                timeout=COMPILE_MS
            )
        if name == "devices":
            placed = pane.locator("[data-part=body]")
            expect(placed).to_have_attribute("data-placed", re.compile("."), timeout=COMPILE_MS)
        if name == "tuning":
            search(pane)
        if name == "targets":
            code = pane.locator("[data-part=right] [data-part=code]")
            expect(code).to_have_attribute("data-code", "aarch64 asm", timeout=COMPILE_MS)
        if name == "asm":
            expect(pane).to_contain_text("ret", timeout=COMPILE_MS)
        playground.page.evaluate("document.querySelector('.walk-side').scrollIntoView()")

    return go


def search(pane: Locator) -> None:
    """Run a short search to its end."""
    budgets = pane.locator("[data-part=budget] option")
    budgets.first.wait_for(state="attached")
    pane.locator("[data-part=budget]").select_option(index=0)
    pane.locator("[data-part=start]").click()
    body = pane.locator("[data-part=body]")
    expect(body).to_have_attribute("data-over", re.compile(r"\d"), timeout=COMPILE_MS)


def edit(playground: Playground) -> None:
    """Run the kernel with a schedule without prefetches against the original."""
    pane = playground.show_pane("schedule")
    pane.locator("[data-part=edit]").click()
    text = pane.locator("textarea")
    moves = text.input_value().splitlines()
    text.fill("\n".join(move for move in moves if "prefetch" not in move))
    text.press("Control+Home")
    expect(pane.locator("[data-part=says]")).to_contain_text("ready to run", timeout=COMPILE_MS)
    pane.locator("[data-part=run]").click()
    result = pane.locator("[data-part=result]")
    expect(result).to_have_attribute("data-over", "true", timeout=COMPILE_MS)
    result.locator("[data-verdict]").scroll_into_view_if_needed()


def compare(playground: Playground) -> None:
    """Compare with the pipeline that changes nothing."""
    pane = playground.show_pane("compare")
    pane.locator("[data-part=preset]").select_option("O0")
    pane.locator("[data-part=run]").click()
    expect(pane.locator(".compare-measured")).to_be_visible(timeout=COMPILE_MS)


def keys(playground: Playground) -> None:
    """Show the list of keys, instead of the previous dialog."""
    playground.page.keyboard.press("Escape")
    playground.part("help").click()


def save(page: Page, path: Path) -> None:
    """Save the window as a picture with a palette."""
    page.mouse.move(0, 0)
    page.screenshot(path=path)
    with Image.open(path) as taken:
        small = taken.convert("RGB").quantize(
            COLORS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE
        )
    small.save(path, optimize=True)


def take(folder: Path, wanted: Collection[str]) -> None:
    """Save the wanted views at every size as `VIEW-SIZE.png`; each view needs all earlier views."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as data,
        served(Path(data)) as address,
        chromium.launched() as browser,
    ):
        for size, (width, height) in SIZES.items():
            page = browser.new_page(
                base_url=address,
                viewport={"width": width, "height": height},
                reduced_motion="reduce",
                color_scheme="light",
            )
            playground = Playground(page)
            left = set(wanted)
            for name, go in views():
                if not left:
                    break
                go(playground)
                if name in left:
                    left.remove(name)
                    save(page, folder / f"{name}-{size}.png")
            page.close()


def main(arguments: list[str]) -> None:
    """Take the screenshots that the command line asks for."""
    if not arguments:
        sys.exit("usage: python -m tests.browser.screenshot FOLDER [VIEW...]")
    folder, *wanted = arguments
    names = [name for name, _ in views()]
    if unknown := sorted({*wanted} - {*names}):
        sys.exit(f"no view is named {', '.join(unknown)}; views: {', '.join(names)}")
    take(Path(folder), wanted or names)


if __name__ == "__main__":
    main(sys.argv[1:])
