"""Screenshots of all lessons for docs/course.md: `make lesson-screenshots`.

    python -m tests.browser.lesson_screenshot FOLDER [LESSON...]

A picture shows the first step with a drawn experiment, whose predictions are skipped.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

from playwright.sync_api import Page

from tests.browser import chromium
from tests.browser.reader import Reader, lessons
from tests.browser.screenshot import SIZES, save
from tests.browser.serving import served

DRAWN = ".lab-bars, .lab-drawing, .lab-steps"
"""What blocks draw: bars, graphs, plans of memory, and steps of passes."""


def show(page: Page, name: str) -> None:
    """Open a lesson at the first step with a drawing, and skip the predictions before it."""
    reader = Reader(page, name, keys=False)
    reader.open()
    for number in range(1, reader.n_steps() + 1):
        page.goto(f"/learn/{name}#step-{number}")
        for skip in reader.step.locator('[data-part="skip"]:visible').all():
            skip.click()
        drawn = reader.step.locator(DRAWN)
        if number > 1 and drawn.count() and drawn.first.is_visible():
            return


def take(folder: Path, names: Collection[str]) -> None:
    """Save a picture of each lesson at each size."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, served(Path(data)) as address:
        with chromium.launched() as browser:
            for name in names:
                width, height = SIZES["wide"]
                page = browser.new_page(
                    base_url=address,
                    viewport={"width": width, "height": height},
                    reduced_motion="reduce",
                )
                show(page, name)
                for size, (width, height) in SIZES.items():
                    page.set_viewport_size({"width": width, "height": height})
                    save(page, folder / f"{name}-{size}.png")
                page.close()


def main(arguments: list[str]) -> None:
    """Take the screenshots that the command line asks for."""
    if not arguments:
        sys.exit("usage: python -m tests.browser.lesson_screenshot FOLDER [LESSON...]")
    folder, *wanted = arguments
    if unknown := sorted({*wanted} - {*lessons()}):
        sys.exit(f"no lesson is named {', '.join(unknown)}; lessons: {', '.join(lessons())}")
    take(Path(folder), wanted or lessons())


if __name__ == "__main__":
    main(sys.argv[1:])
