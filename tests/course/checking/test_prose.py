"""Tests of the checks of prose: figures, sentences, links, terms."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.errors import Where
from course.blocks.all import read_lesson
from course.checking.prose import (
    broken_links,
    long_sentences,
    mean_words,
    n_words,
    repeated_verdicts,
    sentences,
    typed_figures,
)
from course.format.lesson import Prose
from tests.course.lessons import lesson_text


@pytest.mark.parametrize(
    "text",
    ["It takes 3 ms.", "About 40 % less.", "A factor of 1.5.", "1,024 bytes", "(12)", "from 3 to"],
)
def test_a_typed_figure_is_found(text: str) -> None:
    found = list(typed_figures(Prose(f"Words.\n{text}\n", 7), "lesson.md"))
    assert found
    assert found[0].where == Where("lesson.md", 8)


@pytest.mark.parametrize(
    "text",
    [
        "It takes {{trips.fused.seconds}}.",
        "`1 / (1 + x)` and `f32[2,3]`",
        "```\n42\n```",
        "ResNet-50, AVX2, f32, L2, im2col, F(x)",
        "1. first\n2. second",
        "[Roofline 2009](https://example.org/10.1145/1)",
        "two of three",
        "# 3 steps are no good heading, but a mark".replace("3 ", ""),
    ],
)
def test_references_code_names_and_links_are_no_figures(text: str) -> None:
    assert not list(typed_figures(Prose(text + "\n", 1), "lesson.md"))


def test_sentences_are_counted_without_code_and_marks() -> None:
    text = "## A title\n\nOne `a + b + c` two. Three {{a.b}}!\n\n- an item\n- [a link](x) here\n"
    assert sentences(text) == ["One code two.", "Three figure!", "an item", "a link here"]
    assert n_words("It's a well-known fact.") == 4
    assert mean_words([text]) == 2.5
    assert not list(long_sentences(f"{'word ' * 25}. Short.", Where("x", 1)))
    assert len(list(long_sentences(f"{'word ' * 26}. Short.", Where("x", 1)))) == 1


@pytest.mark.parametrize(
    ("target", "fits"),
    [
        ("https://example.org/a", True),
        ("#a-heading", True),
        ("picture.svg", True),
        ("../60-dead", True),
        ("../65-nothing", False),
        ("http://example.org", False),
        ("javascript:alert(1)", False),
        ("/etc/passwd", False),
        ("../../secret", False),
        ("missing.svg", False),
    ],
)
def test_links_lead_somewhere(target: str, fits: bool, tmp_path: Path) -> None:
    folder = tmp_path / "70-fusion"
    folder.mkdir()
    (folder / "picture.svg").write_text("")
    found = list(broken_links(Prose(f"See [this]({target}).\n", 3), "lesson.md", folder))
    assert (not found) == fits


PREDICTION = """
```predict {{name=guess}}
ask = "Are there more?"

[[choice]]
text = "Yes"
when = "counted.a.nodes > 3"
feedback = "{}"

[[choice]]
text = "No"
when = "counted.a.nodes <= 3"
feedback = "Not all of them count."
```
"""


@pytest.mark.parametrize(
    ("feedback", "n_problems"),
    [("Yes. Each one counts.", 1), ("Right: each one counts.", 1), ("Yes-men count.", 0)],
)
def test_the_feedback_of_a_prediction_repeats_no_verdict(feedback: str, n_problems: int) -> None:
    lesson = read_lesson(lesson_text(PREDICTION.format(feedback)))
    assert len(list(repeated_verdicts(lesson))) == n_problems
