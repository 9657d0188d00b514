"""Takes the picture of the page that README.md shows: `make picture`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.browser import chromium
from tests.browser.playground import Playground
from tests.browser.serving import served

SAMPLE, PASS = "squeezenet", "fuse"
WIDTH, HEIGHT = 1440, 900


def take(picture: Path) -> None:
    """A pass that both did and declined much, with its steps beside the graph."""
    picture.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as address,
        chromium.launched() as browser,
    ):
        page = browser.new_page(
            base_url=address,
            viewport={"width": WIDTH, "height": HEIGHT},
            reduced_motion="reduce",
            color_scheme="light",
        )
        playground = Playground(page).open().pick(SAMPLE).compile()
        page.locator(".pass-row .pass-name").get_by_text(PASS, exact=True).click()
        playground.show_pane("steps")
        page.mouse.move(0, 0)
        page.screenshot(path=picture)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.browser.screenshot PICTURE.png")
    take(Path(sys.argv[1]))
