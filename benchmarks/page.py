"""How quick the page is, in a real Chromium that draws in software: a table of figures and limits.

    python -m benchmarks.page [--only first-graph steps pan weight] [--rounds 3] [--json FILE]

`first-graph`: an uploaded ResNet-50 (light weights: 80 kB) until its graph is painted, Compile
pressed as soon as it can be. `steps`: from a key to the paint of the next or last pass that
changed something, in graphs of about 1,000, 5,000 and 10,000 nodes, and how far the selected node
moves. `pan`: frames while 10,000 nodes and 20,000 edges, in places that are given, are dragged and
zoomed. `weight`: what the first load and the walk over 300 nodes weigh on the wire. Nothing is
faked in the first two but the hand.

A longest task is one of the page's main thread, in time that the thread was running: what other
programs take from it is in the time by the clock beside it. What the browser does to be traced, and
what the hand does, is in it too.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, Route, expect

from benchmarks.made import Maker, encoder
from benchmarks.main_thread import LONG_MS, Tasks, watched
from tests.browser import chromium
from tests.browser.playground import Playground
from tests.browser.serving import REPOSITORY, served
from tests.models import light_model

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


@dataclass(frozen=True)
class Figure:
    """A row of the table: a value that must not be above its limit."""

    name: str
    value: float
    limit: float
    unit: str
    how: str = ""

    def row(self) -> str:
        """A line of the table."""
        good = "yes" if self.value <= self.limit else "**no**"
        return (
            f"| {self.name} | {self.value:,.1f} {self.unit} | {self.limit:,g} {self.unit} "
            f"| {good} | {self.how} |"
        )


class Bench:
    """A served playground and a browser, and pages that are watched."""

    def __init__(self, browser: Browser, address: str, folder: Path, rounds: int) -> None:
        self.browser, self.address, self.folder, self.rounds = browser, address, folder, rounds

    def page(self) -> Page:
        """A fresh page, with nothing of another in its cache."""
        context = self.browser.new_context(
            base_url=self.address, viewport={"width": 1440, "height": 900}
        )
        context.set_default_timeout(150_000)
        page = context.new_page()
        page.add_init_script(WATCH)
        return page

    def first_graph(self) -> Iterator[Figure]:
        """From the choice of a file to its graph, and to everything that the job makes."""
        seconds: list[float] = []
        until, after = list[Tasks](), list[Tasks]()
        for number in range(self.rounds):
            # Other bytes each time, so that nothing is known of the file.
            data = light_model("resnet50").read_bytes() + _unknown_field(number)
            path = self.folder / f"resnet50-{number}.onnx"
            path.write_bytes(data)
            page = self.page()
            playground = Playground(page).open()
            page.wait_for_load_state("networkidle")
            with watched(self.browser, page) as tasks:
                seconds.append(_upload(page, path) / 1000)
            until.append(tasks)
            with watched(self.browser, page) as tasks:
                playground.wait_for_walk()  # or the next round would wait for this job
            after.append(tasks)
            page.context.close()
        rounds = "s, ".join(f"{s:.2f} " for s in seconds)
        yield Figure("upload to first graph, ResNet-50", max(seconds), 1.5, "s", f"{rounds}s")
        yield _longest("until the first graph, ResNet-50", until)
        yield _longest("from then to the end of the job", after)

    def steps(self) -> Iterator[Figure]:
        """From key to paint, pass by pass; and whether what is selected stays where it is."""
        for n_nodes, limit in STEP_LIMITS_MS.items():
            path = self.folder / f"nodes{n_nodes}.onnx"
            path.write_bytes(blocks(n_nodes // 8 - 1))
            page = self.page()
            playground = Playground(page).open()
            page.wait_for_load_state("networkidle")
            with watched(self.browser, page) as until:
                _upload(page, path)
            with watched(self.browser, page) as after:
                _stop_after_passes(playground)
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
            yield _longest(f"until the first graph, {n_nodes:,} nodes", [until])
            yield _longest(f"from then to the last pass, {n_nodes:,} nodes", [after])
            yield _longest(f"while walking {n_nodes:,} nodes", [walking])
            yield Figure(
                "selected node moves", max(moves, default=-1), 0, "px", f"{len(moves)} looks"
            )
            page.context.close()

    def pan(self) -> Iterator[Figure]:
        """Frames while a drawing of 10,000 nodes and 20,000 edges is moved."""
        page = self.page()
        made = wide_drawing(100, 100)
        page.route("**/union*", _answers(made["union"]))
        page.route("**/stages/*/delta", _answers(made["graph"]))
        page.route("**/worker*.js*", lambda route: _fake_layout(route, made["layout"]))
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
        """What is sent, compressed."""
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


def _stop_after_passes(playground: Playground) -> None:
    """The walk needs no machine code, which takes longer than all passes."""
    busy = playground.page.locator(".header-busy")
    expect(busy).to_have_text(re.compile("Making machine code"), timeout=60_000)
    playground.part("halt").click()
    playground.wait_for_walk()


def _is_trace(url: str) -> bool:
    return "/stages/" in url or url.partition("?")[0].endswith(("/union", "/result"))


def _upload(page: Page, path: Path) -> float:
    """Milliseconds from the choice of a file to its painted graph; Compile is pressed between."""
    page.evaluate(WATCH_UPLOAD)
    page.locator("[data-part=file]").set_input_files(path)
    return page.evaluate(CHOSEN)


def _longest(when: str, rounds: Sequence[Tasks]) -> Figure:
    """Of several rounds the one with the longest task."""
    worst = max(rounds, key=lambda tasks: tasks.longest_ms)
    return Figure(f"longest task {when}", worst.longest_ms, LONG_MS, "ms", worst.words())


def _place_of_selected(page: Page) -> list[float] | None:
    place = page.locator("[data-part=stage]").get_attribute("data-focus-at")
    return [float(each) for each in place.split(",")] if place else None


def _unknown_field(number: int) -> bytes:
    """A field that readers of protobuf skip: number 500, a varint."""
    return bytes([0xA0, 0x1F, number])


def _answers(payload: Any) -> Any:
    body = json.dumps(payload)
    return lambda route: route.fulfill(body=body, content_type="application/json")


def _fake_layout(route: Route, layout: Any) -> None:
    """Places that are known, in place of the layout engine."""
    script = (
        f"const layout = {json.dumps(layout)};"
        + """
        self.onmessage = ({data: {id, asked}}) => {
          if (!asked) return;
          self.postMessage({id, layout});
          self.postMessage({id, levels: [["", 0]], seconds: 0});
        };"""
    )
    route.fulfill(body=script, content_type="text/javascript")


def blocks(n_blocks: int) -> bytes:
    """A residual network of tiny blocks of eight nodes, two in a row alike."""
    m = Maker()
    x = "x"
    for _ in range(n_blocks):
        h = m.add("Conv", x, m.weight(4, 4, 1, 1))
        h = m.add("Relu", h)
        h = m.add("Mul", h, m.constant(np.float32(1)))
        h = m.add("Conv", h, m.weight(4, 4, 1, 1))
        h = m.add("Identity", h)
        bell = m.add("Sigmoid", h)
        h = m.add("Mul", h, bell)
        x = m.add("Add", x, h)
    return m.model(f"blocks{n_blocks}", (1, 4, 8, 8), (1, 4, 8, 8), x)


def wide_drawing(n_columns: int, n_rows: int) -> dict[str, Any]:
    """A grid of nodes, each read by two of the row below: payloads and the places of the nodes."""
    w, h, dx, dy = 120, 40, 150, 90
    names = [f"v{i}" for i in range(n_columns * n_rows)]
    links = [
        (i, (i // n_columns + 1) * n_columns + (i + step) % n_columns)
        for i in range(n_columns * (n_rows - 1))
        for step in (0, 1)
    ]
    kinds = ("contraction", "elementwise", "reduction", "movement", "view")
    entry = {"kind": "node", "op": "add", "types": ["f32[1,64,56,56]"], "inputs": [], "attrs": {}}
    nodes = [
        {
            **entry,
            "id": n,
            "name": n,
            "family": kinds[i % 5],
            "outputs": [n],
            "origins": [n],
            "regions": {},
        }
        for i, n in enumerate(names)
    ]
    graph = {
        "stage": 0,
        "graph_stage": 0,
        "name": "wide",
        "against": -1,
        "nodes": [[0, 0, nodes]],
        "edges": [[0, 0, [[names[a], names[b], 0, names[a]] for a, b in links]]],
        "constants": [],
        "added": [],
        "changed": [],
        "removed": [],
    }
    union = {
        "dot": "",
        "n_nodes": len(names),
        "n_drawn": len(names),
        "collapsed": False,
        "nodes": [
            {"key": f"n{i}", "id": n, "stages": [[0, 99]], "group": "", "width": w, "height": h}
            for i, n in enumerate(names)
        ],
        "groups": [],
    }
    at = [(i % n_columns * dx + w, i // n_columns * dy + h) for i in range(len(names))]
    edges = []
    for a, b in links:
        (xa, ya), (xb, yb) = at[a], at[b]
        path = [xa, ya + h / 2, xa, ya + 40, xb, yb - 40, xb, yb - h / 2]
        edges.append({"from": f"n{a}", "to": f"n{b}", "path": path, "tip": None})
    layout = {
        "width": n_columns * dx + w,
        "height": n_rows * dy + h,
        "nodes": [{"key": f"n{i}", "x": x, "y": y, "w": w, "h": h} for i, (x, y) in enumerate(at)],
        "edges": edges,
    }
    return {"graph": graph, "union": union, "layout": layout}


STEP_LIMITS_MS = {1000: 100, 5000: 250, 10_000: 500}
"""How long a step may take in a graph of so many nodes."""

PARTS = {
    "weight": Bench.weight,
    "first-graph": Bench.first_graph,
    "pan": Bench.pan,
    "steps": Bench.steps,
}
COLUMNS = ("what", "measured", "at most", "held", "how")


def measure(only: Sequence[str], rounds: int) -> Iterator[Figure]:
    """The figures of these parts, as they come."""
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as address,
        chromium.launched() as browser,
    ):
        bench = Bench(browser, address, Path(folder), rounds)
        for name in only:
            yield from PARTS[name](bench)


def main() -> None:
    """Measure and print."""
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
