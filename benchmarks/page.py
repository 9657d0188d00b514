"""Responsiveness of the page in Chromium with software rendering: a table of figures and limits.

The browser is the full Chromium, or its headless shell if no other Chromium is installed.

    python -m benchmarks.page [--only first-graph steps pan weight] [--rounds 3] [--json FILE]

`first-graph`: time from the upload of ResNet-50 (light weights: 80 kB) to the paint of its graph;
Compile is pressed as soon as it is enabled. `steps`: time from a key press to the paint of the next
or last pass with changes, in graphs of about 1,000, 5,000 and 10,000 nodes; and the distance that
the selected node moves. `pan`: frame times while a drawing of 10,000 nodes and 20,000 edges, with
fixed positions, is dragged and zoomed. `weight`: compressed bytes of the first load, and of all
passes of a graph of 300 nodes. In the first two parts, only the user is simulated.

Longest tasks are tasks of the page's main thread. Wall time includes preemption by other programs:
layouts, the server and its compiler run on the same processors. Thread time excludes preemption.
Both include the overhead of tracing and of the simulated user.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, expect

from benchmarks.made import blocks, encoder
from benchmarks.main_thread import LONG_MS, Tasks, watched
from benchmarks.page_hand import STEP, WATCH, stop_after_passes, upload, wait_for_end
from benchmarks.wide_drawing import show_wide
from tests.browser import chromium
from tests.browser.playground import Playground
from tests.browser.serving import REPOSITORY, served
from tests.models import light_model


@dataclass(frozen=True)
class Figure:
    """A row of the table: a value that must not exceed its limit."""

    name: str
    value: float
    limit: float
    unit: str
    how: str = ""

    def row(self) -> str:
        """Return a row of the table."""
        good = "yes" if self.value <= self.limit else "**no**"
        return (
            f"| {self.name} | {self.value:,.1f} {self.unit} | {self.limit:,g} {self.unit} "
            f"| {good} | {self.how} |"
        )


class Bench:
    """Measurements of pages of a served playground in a browser."""

    def __init__(self, browser: Browser, address: str, folder: Path, rounds: int) -> None:
        self.browser, self.address, self.folder, self.rounds = browser, address, folder, rounds

    def page(self) -> Page:
        """Return a new page with an empty cache."""
        context = self.browser.new_context(
            base_url=self.address, viewport={"width": 1440, "height": 900}
        )
        context.set_default_timeout(150_000)
        page = context.new_page()
        page.add_init_script(WATCH)
        return page

    def first_graph(self) -> Iterator[Figure]:
        """Measure from the choice of a file to its graph, and to the end of the job."""
        seconds: list[float] = []
        until, after = list[Tasks](), list[Tasks]()
        for number in range(self.rounds):
            # Each round uploads different bytes, so no cache knows the file.
            data = light_model("resnet50").read_bytes() + _unknown_field(number)
            path = self.folder / f"resnet50-{number}.onnx"
            path.write_bytes(data)
            page = self.page()
            Playground(page).open()
            page.wait_for_load_state("networkidle")
            with watched(self.browser, page) as tasks:
                seconds.append(upload(page, path) / 1000)
            until.append(tasks)
            with watched(self.browser, page) as tasks:
                wait_for_end(page)  # otherwise the next round would wait for this job
            after.append(tasks)
            page.context.close()
        rounds = "s, ".join(f"{s:.2f} " for s in seconds)
        yield Figure("upload to first graph, ResNet-50", max(seconds), 1.5, "s", f"{rounds}s")
        yield from _longest("until the first graph, ResNet-50", until)
        yield from _longest("from then to the end of the job", after)

    def steps(self) -> Iterator[Figure]:
        """Measure from key press to paint, pass by pass, and the movement of the selected node."""
        for n_nodes, limit in STEP_LIMITS_MS.items():
            path = self.folder / f"nodes{n_nodes}.onnx"
            path.write_bytes(blocks(n_nodes // 8 - 1))
            page = self.page()
            playground = Playground(page).open()
            page.wait_for_load_state("networkidle")
            with watched(self.browser, page) as until:
                upload(page, path)
            with watched(self.browser, page) as after:
                stop_after_passes(page)
            playground.press("Home")
            playground.expect_stage(0)
            stage = playground.part("stage")
            layout_ms = stage.get_attribute("data-layout-ms")
            search = playground.part("search")
            search.fill("Add_15")
            search.press("Enter")
            playground.expect_laid_out()
            times, moves = [], []
            at = stage.get_attribute("data-stage") or ""
            n_changes = sum(did for stage, did in playground.stages() if stage > 0)
            where = _place_of_selected(page)
            with watched(self.browser, page) as walking:
                for key in ("j" * n_changes + "k" * n_changes) * self.rounds:
                    taken, at = page.evaluate(STEP, [key, at])
                    times.append(taken)
                    page.wait_for_load_state("networkidle")
                    now = _place_of_selected(page)
                    if where and now:
                        moves.append(float(np.hypot(now[0] - where[0], now[1] - where[1])))
                    where = now or where
            how = f"{len(times)} steps, median {np.median(times):.0f}; laid out in {layout_ms} ms"
            name = f"next pass painted, {n_nodes:,} nodes, p95"
            yield Figure(name, float(np.percentile(times, 95)), limit, "ms", how)
            yield from _longest(f"until the first graph, {n_nodes:,} nodes", [until])
            yield from _longest(f"from then to the last pass, {n_nodes:,} nodes", [after])
            yield from _longest(f"while walking {n_nodes:,} nodes", [walking])
            yield Figure(
                "selected node moves", max(moves, default=-1), 0, "px", f"{len(moves)} looks"
            )
            page.context.close()

    def pan(self) -> Iterator[Figure]:
        """Measure frames while a drawing of 10,000 nodes and 20,000 edges is moved and zoomed."""
        page = self.page()
        show_wide(page, 100, 100)
        playground = Playground(page).open()
        playground.pick("digits_mlp").compile()
        stage = playground.part("stage")
        box = playground.part("canvas").bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        for name, zooms in (("whole", 0), ("near", 12)):
            playground.press("f")
            page.mouse.move(x, y)
            for _ in range(zooms):
                page.mouse.wheel(0, -150)
            page.evaluate("nextPaint()")
            page.evaluate("recordFrames()")
            page.mouse.down()
            page.mouse.move(x + 150, y + 90, steps=60)
            page.mouse.move(x - 150, y - 90, steps=60)
            page.mouse.up()
            for turn in range(60):
                page.mouse.wheel(0, -25 if turn % 30 < 15 else 25)
            frames = page.evaluate("cancelAnimationFrame(measured.recording), measured.frames")
            drawn = stage.get_attribute("data-drawn")
            paint = stage.get_attribute("data-paint-ms")
            how = f"{drawn} nodes in view, {len(frames)} frames, last painted in {paint} ms"
            p95 = float(np.percentile(frames, 95))
            yield Figure(f"pan and zoom, 10,000 nodes, {name}, p95 frame", p95, 33, "ms", how)
        page.context.close()

    def weight(self) -> Iterator[Figure]:
        """Measure the compressed bytes that the server sends."""
        dist = REPOSITORY / "static" / "dist"
        first = sum(
            len(gzip.compress((dist / name).read_bytes())) for name in ("main.js", "main.css")
        )
        yield Figure("first load, JS and CSS", first / 1000, 250, "kB gzip")
        path = self.folder / "nodes300.onnx"
        path.write_bytes(encoder(9, length=8, width=16, heads=2))
        page = self.page()
        sent: list[int] = []
        page.on(
            "requestfinished",
            lambda r: sent.append(r.sizes()["responseBodySize"] if _is_trace(r.url) else 0),
        )
        playground = Playground(page).open()
        playground.drop(path)
        expect(playground.part("compile")).to_be_enabled(timeout=60_000)
        playground.compile()
        stages = playground.stages()
        for _ in playground.walk_all():
            page.wait_for_load_state("networkidle")
        how = f"{len(stages) - 1} passes, {sum(map(bool, sent))} answers"
        yield Figure("trace of 300 nodes", sum(sent) / 1e6, 1, "MB gzip", how)
        page.context.close()


def _is_trace(url: str) -> bool:
    return "/stages/" in url or url.partition("?")[0].endswith(("/union", "/result"))


def _longest(when: str, rounds: Sequence[Tasks]) -> Iterator[Figure]:
    """Yield the longest task of several rounds, by wall time and by thread time."""
    slowest = max(rounds, key=lambda tasks: max(tasks.wall_ms, default=0.0))
    wall = max(slowest.wall_ms, default=0.0)
    yield Figure(f"longest task {when}, by the clock", wall, LONG_MS, "ms", slowest.words())
    worst = max(rounds, key=lambda tasks: tasks.longest_ms)
    yield Figure(f"longest task {when}, thread time", worst.longest_ms, LONG_MS, "ms")


def _place_of_selected(page: Page) -> list[float] | None:
    place = page.locator("[data-part=stage]").get_attribute("data-focus-at")
    return [float(each) for each in place.split(",")] if place else None


def _unknown_field(number: int) -> bytes:
    """Return a protobuf field that parsers skip: number 500, a varint."""
    return bytes([0xA0, 0x1F, number])


STEP_LIMITS_MS = {1000: 100, 5000: 250, 10_000: 500}
"""Time limits of a step, by number of nodes."""

PARTS = {
    "weight": Bench.weight,
    "first-graph": Bench.first_graph,
    "pan": Bench.pan,
    "steps": Bench.steps,
}
COLUMNS = ("what", "measured", "at most", "held", "how")


def measure(only: Sequence[str], rounds: int) -> Iterator[Figure]:
    """Yield the figures of the selected parts as soon as they are measured."""
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as address,
        chromium.launched((*chromium.WHOLE, chromium.SHELL)) as browser,
    ):
        bench = Bench(browser, address, Path(folder), rounds)
        for name in only:
            yield from PARTS[name](bench)


def main() -> None:
    """Measure the selected parts, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|", flush=True)
    found = []
    for figure in measure(options.only, options.rounds):
        print(figure.row(), flush=True)
        found.append(asdict(figure))
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
