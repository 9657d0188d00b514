"""Tests of presets: their generated document, and a mapping of every pass to other compilers."""

from __future__ import annotations

from pathlib import Path

import pytest

import compiler.passes.pipeline.presets as folder_of_presets
from compiler.passes import parse_pipeline, presets
from compiler.passes.pipeline.presets import SYSTEMS, manners
from compiler.passes.pipeline.presets.manner import Manner
from compiler.passes.pipeline.presets.page import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "pipelines.md"

each_manner = pytest.mark.parametrize("manner", manners(), ids=lambda m: m.name)


def test_the_page_is_what_the_declarations_say() -> None:
    assert PAGE.read_text() == page(), "run `make tables` to update it"


def test_every_system_of_the_folder_is_listed() -> None:
    folder = Path(folder_of_presets.__path__[0])
    found = {p.stem for p in folder.glob("*.py")}
    assert found == {*SYSTEMS, "__init__", "manner", "ours", "page"}


@each_manner
def test_a_manner_lists_their_passes_and_says_what_is_not_alike(manner: Manner) -> None:
    assert len(manner.steps) >= 10
    assert manner.alike
    assert manner.unlike
    assert manner.source
    assert sum(s.ours is not None for s in manner.steps) >= 6
    assert all(s.words for s in manner.steps if s.ours is None), (
        "give the reason why no pass corresponds"
    )


@each_manner
def test_a_manner_is_a_preset_with_a_text_form(manner: Manner) -> None:
    pipeline = presets()[manner.name]
    assert str(parse_pipeline(str(pipeline))) == str(pipeline)
    assert parse_pipeline(manner.name) is pipeline


def test_the_presets_of_other_compilers_say_that_they_are_imitations() -> None:
    for manner in manners():
        words = presets()[manner.name].words
        assert words == manner.pipeline.words
        assert words.startswith(f"An imitation of {manner.system}, with our own passes")
