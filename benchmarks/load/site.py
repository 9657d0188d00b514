"""The files of the page: those of its first load, and those of the first action of a reader."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchmarks.load.client import Browser

_ASSET = re.compile(r'(?:href|src|data-worker|data-reader)="(/static/[^"]+)"')
_IMPORTED = re.compile(r'(?:from|import)\s*"(\./[^"]+)"')
_IMPORTED_LATER = re.compile(r'import\("(\./[^"]+)"\)')
_WORKERS = re.compile(r"/(?:worker|reader)\.js")


@dataclass(frozen=True, slots=True)
class Site:
    """The addresses of static files, as the page of a server names them."""

    first: tuple[str, ...]
    """Fetched by the first load of the page."""
    later: tuple[str, ...]
    """Fetched when the reader acts for the first time."""


async def explore(browser: Browser) -> Site:
    """Read the page and its modules. Errors: ValueError if the server sends no page."""
    page = await browser.get("/", "html")
    if not page.is_good:
        raise ValueError(f"{browser.url} answered {page.status or 'nothing'} instead of the page")
    named = list(dict.fromkeys(_ASSET.findall(page.content().decode())))
    workers = [each for each in named if _WORKERS.search(each)]
    first = [each for each in named if each not in workers]
    later = workers
    for path in first:  # grows: modules import further modules
        if path.partition("?")[0].endswith(".js"):
            text = (await browser.get(path, "static")).content().decode()
            first += _new(_IMPORTED.findall(text), path, first)
            later += _new(_IMPORTED_LATER.findall(text), path, later)
    return Site(tuple(first), tuple(later))


def _new(names: list[str], module: str, known: list[str]) -> list[str]:
    """Return the addresses of imported modules that are not known yet."""
    folder = module.partition("?")[0].rpartition("/")[0]
    found = dict.fromkeys(f"{folder}/{name[2:]}" for name in names)
    return [each for each in found if each not in known]
