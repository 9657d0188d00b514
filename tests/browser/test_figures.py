"""The page shows the values of the payloads, as the commands format them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from playwright.sync_api import Locator, expect

from compiler.figures.listing import figures
from compiler.units import bytes_text, number_text, percent_text, ratio_text, seconds_text
from tests.browser.playground import Playground
from tests.figure_models import MODELS
from tests.figure_places import values

FIGURES = figures()
PANES = ("timing", "profile", "memory")
DERIVED = {"timing": "result", "profile": "profile", "memory": "result"}
"""The document that each pane shows."""

LEAST = 50


def payload(playground: Playground, part: str) -> Any:
    """Return a part of the result that the page shows."""
    job = playground.page.evaluate("new URLSearchParams(location.hash.slice(1)).get('job')")
    return playground.page.request.get(f"/api/v1/jobs/{job}/{part}").json()


@pytest.fixture(params=("CNN", "quantized", "If"))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def compiled(name: str, playground: Playground, tmp_path: Path) -> Playground:
    """The walk of a dropped model, with all times."""
    path = tmp_path / "model.onnx"
    onnx.save(MODELS[name][0](), path)
    playground.drop(path)
    expect(playground.part("file-says")).to_contain_text("ONNX nodes")
    return playground.compile()


def rows_of(table: Locator) -> list[list[str]]:
    read = "rows => rows.map(r => [...r.cells].map(c => c.innerText.replace(/\\s+/g, ' ').trim()))"
    return table.locator("tbody tr").evaluate_all(read)


class Told:
    """Counts compared texts, and collects those that differ."""

    def __init__(self) -> None:
        self.n = 0
        self.wrong: list[str] = []

    def same(self, what: str, shown: str, expected: str) -> None:
        """Compare the text of the page with the text of the payload's value."""
        self.n += 1
        if shown != expected:
            self.wrong.append(f"{what}: the page shows {shown!r}, the payload has {expected!r}")

    def within(self, what: str, shown: str, expected: str) -> None:
        """Require that a text of the page contains the text of the payload's value."""
        self.n += 1
        if expected not in shown.replace("\N{NO-BREAK SPACE}", " "):
            self.wrong.append(f"{what}: the page shows {shown!r}, without {expected!r}")


def declared(playground: Playground, documents: dict[str, Any], told: Told) -> None:
    """Compare every large figure of the panes with the declared fields that contain it."""
    for pane in PANES:
        shown = playground.show_pane(pane).locator("[data-figure]")
        if pane == "memory" and not documents["result"]["memory"]["buffers"]:
            continue
        expect(shown.first).to_be_visible()
        for each in shown.all():
            figure = FIGURES[each.get_attribute("data-figure") or ""]
            place = next(
                p
                for group in figure.places
                for p in group.split(" = ")
                if p.startswith(DERIVED[pane])
            )
            (value,) = values(documents, place)
            told.same(f"{pane}, {figure.name}", first_line(each.locator("dd")), figure.text(value))
            told.same(f"{pane}, {figure.name}", each.locator("dt").inner_text(), figure.title)


def first_line(each: Locator) -> str:
    return each.evaluate("e => e.firstChild.textContent.replaceAll('\\u00a0', ' ')")


def cells(playground: Playground, pane: str, told: Told, rows: dict[str, list[str]]) -> None:
    """Compare cells of a table, by the name in the row's button."""
    for row in rows_of(playground.show_pane(pane)):
        found = next((name for name in rows if any(c.startswith(name) for c in row)), None)
        assert found, f"{pane}: no kernel for {row}"
        for text in rows[found]:
            told.within(f"{pane}, {found}", " | ".join(row), text)


def or_dash(text: Callable[[Any], str], value: Any) -> str:
    return "–" if value is None else text(value)


def test_the_page_shows_the_figures_of_the_payloads(name: str, compiled: Playground) -> None:
    result, profile = payload(compiled, "result"), payload(compiled, "profile")
    documents = {"result": result, "profile": profile}
    told = Told()
    declared(compiled, documents, told)
    kernels = result["kernels"]
    cells(
        compiled,
        "profile",
        told,
        {
            kernels[k["kernel"]]["name"]: [
                seconds_text(k["median_s"]),
                percent_text(k["share"]),
                or_dash(seconds_text, k["predicted_s"]),
                or_dash(ratio_text, k["ratio"]),
                or_dash(seconds_text, k["potential_s"]),
            ]
            for k in profile["kernels"]
        },
    )
    shares = {k["kernel"]: k["share"] for k in profile["kernels"]}
    cells(
        compiled,
        "kernels",
        told,
        {
            k["name"]: [
                or_dash(seconds_text, k["median_s"]),
                bytes_text(k["bytes"]),
                *([percent_text(shares[k["kernel"]])] if k["kernel"] in shares else []),
            ]
            for k in sorted(kernels, key=lambda k: -len(k["name"]))
        },
    )
    passes_listed(compiled, result, told)
    timing = compiled.show_pane("timing").inner_text()
    for key in ("seconds", "verify_seconds"):
        told.within("timing, passes", timing, seconds_text(result["passes"][key]))
    for each in result["timings"]:
        told.within(f"timing, {each['phase']}", timing, seconds_text(each["seconds"]))
    told.within(
        "timing, model", timing, f"{number_text(result['model']['n_parameters'])} parameters"
    )
    header = compiled.page.locator("header").first.inner_text()
    told.within("header", header, seconds_text(result["run"]["median_s"]))
    first, last = result["stages"][0]["n_nodes"], result["stages"][-1]["n_nodes"]
    told.within("header", header, f"{first} → {last} nodes")
    assert not told.wrong, "\n".join(told.wrong)
    assert told.n >= LEAST


def passes_listed(playground: Playground, result: dict[str, Any], told: Told) -> None:
    """Compare the list of passes, with the passes that changed nothing."""
    summary = playground.page.locator(".passes-summary").inner_text()
    told.within("passes", summary, seconds_text(result["passes"]["seconds"]))
    told.within("passes", summary, f"{result['passes']['n_passes']} pass")
    for row in playground.page.locator(".pass-row").all():
        stage = result["stages"][int(row.get_attribute("data-stage") or 0)]
        text = " ".join(row.inner_text().split())
        told.within(f"pass {stage['stage']}", text, seconds_text(stage["seconds"]))
        if stage["n_applied"]:
            told.within(f"pass {stage['stage']}", text, f"{stage['n_applied']} applied")
        before = result["stages"][max(stage["stage"] - 1, 0)]["value_bytes"]
        if before is not None and stage["value_bytes"] != before:
            delta = bytes_text(stage["value_bytes"] - before)
            told.within(f"pass {stage['stage']}", text, f"{delta} of values")
