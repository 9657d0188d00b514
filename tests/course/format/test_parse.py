"""Tests of the text form of lessons: parsing, printing, positions of errors, limits."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from compiler.errors import CompileError, Where
from course.format.kind import block_kind
from course.format.lesson import Block, Prose
from course.format.limits import LONGEST_LINE, MOST_BLOCKS, MOST_CHARACTERS, MOST_OPTIONS
from course.format.parse import parse_lesson
from course.format.references import filled, parse_reference, references_of
from course.format.toml import read_toml, write_toml


@block_kind(body="text")
def graph(run: Any, body: str, *, name: str, expect: str = "") -> None:
    """Show a graph."""


@block_kind(body="none")
def view(
    run: Any, body: None, *, pane: Literal["fusion", "memory"], wide: bool = False, n: float = 1.5
) -> None:
    """Open a pane."""


@block_kind(body="toml", read=read_toml, runs=False)
def why(run: Any, body: Any) -> None:
    """Ask for the reason."""


KINDS = {k.name: k for k in (graph, view, why)}

FRONT = """+++
title = "Fusion"
goal = "You can say when fusion \\"helps\\"."
question = "Why is one kernel faster than three?"
part = 2
number = 70
prerequisites = ["20-reading"]
minutes = 25

[terms]
"kernel" = "A function that runs as one launch."
+++
"""

TEXT = (
    FRONT
    + """
Words, and `{{not.code}}` {{chain.nodes}}.

## First step

```graph {name=chain expect=E-OP-SHAPE}
graph g(x: f32[2,3]) {
  return x
}
```
More words.
```view {pane=memory wide=true n=2.5e-3}
```
## Second

```
## plain code
```

````why
ask = "```"
````
The end."""
)


def parsed(text: str) -> Any:
    return parse_lesson(text, "lesson.md", KINDS)


def refusal(text: str) -> CompileError:
    with pytest.raises(CompileError) as caught:
        parsed(text)
    return caught.value


def test_a_lesson_has_front_matter_and_typed_blocks() -> None:
    lesson = parsed(TEXT)
    assert lesson.front.number == 70
    assert lesson.front.goal == 'You can say when fusion "helps".'
    assert lesson.front.terms == {"kernel": "A function that runs as one launch."}
    assert [b.kind for b in lesson.blocks] == ["graph", "view", "why"]
    chain = lesson.block("chain")
    assert chain.line == 18
    assert chain.body.startswith("graph g(x")
    assert lesson.blocks[1].options == {"pane": "memory", "wide": True, "n": 0.0025}
    assert lesson.blocks[2].content.text("ask") == "```"


def test_printed_text_parses_to_an_equal_lesson() -> None:
    lesson = parsed(TEXT)
    assert parsed(str(lesson)) == lesson
    assert str(parsed(str(lesson))) == str(lesson)


def test_steps_begin_at_headings_outside_of_plain_code() -> None:
    steps = parsed(TEXT).steps
    assert [s.title for s in steps] == ["", "First step", "Second"]
    assert [type(p) for p in steps[1].parts] == [Prose, Block, Prose, Block]
    assert "plain code" in str(steps[2].parts[0])


def test_line_ends_and_byte_order_marks_do_not_matter() -> None:
    assert parsed("\ufeff" + TEXT.replace("\n", "\r\n")) == parsed(TEXT)


def with_block(text: str) -> str:
    return f"{FRONT}\nWords.\n\n{text}\n"


@pytest.mark.parametrize(
    ("text", "code", "line", "words"),
    [
        ("", "E-LESSON-FRONT", 1, "expected front matter"),
        ("+++\ntitle = 1\n", "E-LESSON-FRONT", 1, "has no end"),
        ("+++\n\ntitle = =\n+++\n", "E-LESSON-FRONT", 3, "cannot be read"),
        (FRONT.replace("part = 2", "part = '2'"), "E-LESSON-FRONT", 2, "part must be an integer"),
        (FRONT.replace("minutes = 25", ""), "E-LESSON-FRONT", 2, "'minutes' is missing"),
        (FRONT.replace("minutes = 25", "minutes = true"), "E-LESSON-FRONT", 2, "an integer"),
        (FRONT.replace("20-reading", "../x"), "E-LESSON-FRONT", 2, "not the name of a lesson"),
        (FRONT.replace("part", "port"), "E-LESSON-FRONT", 2, "'port' is unknown"),
        (with_block("```grahp\n```"), "E-LESSON-BLOCK", 16, "no kind of block is named 'grahp'"),
        (with_block("```graph {name=a}\nx\n"), "E-LESSON-TEXT", 16, "not closed"),
        (with_block("```graph name=a\n```"), "E-LESSON-TEXT", 16, "expected options in braces"),
        (with_block("```graph {name}\n```"), "E-LESSON-TEXT", 16, "expected key=value"),
        (with_block("```graph {name=a name=b}\n```"), "E-LESSON-TEXT", 16, "given twice"),
        (with_block("```graph {nme=a}\n```"), "E-LESSON-BLOCK", 16, "no option 'nme'"),
        (with_block("```graph\n```"), "E-LESSON-BLOCK", 16, "requires the option name"),
        (with_block("```graph {name=3}\n```"), "E-LESSON-BLOCK", 16, "to be a text"),
        (with_block('```graph {name="a b"}\n```'), "E-LESSON-BLOCK", 16, "to be a name"),
        (with_block("```view {pane=graph}\n```"), "E-LESSON-BLOCK", 16, "one of fusion, memory"),
        (with_block("```view {pane=fusion n=x}\n```"), "E-LESSON-BLOCK", 16, "a number"),
        (with_block("```view {pane=fusion n=1e999}\n```"), "E-LESSON-TEXT", 16, "expected a word"),
        (with_block("```view {pane=fusion}\nx\n```"), "E-LESSON-BLOCK", 17, "has no body"),
        (with_block("```why\nask =\n```"), "E-LESSON-BLOCK", 17, "cannot be read"),
        (with_block('```graph {name="\\q"}\n```'), "E-LESSON-TEXT", 16, "escape"),
        (with_block("a\x00b"), "E-LESSON-TEXT", 16, "control character"),
        (
            with_block("```graph {name=a}\n```\n```graph {name=a}\n```"),
            "E-LESSON-BLOCK",
            18,
            "already that of the block of line 16",
        ),
    ],
)
def test_an_error_has_code_and_line(text: str, code: str, line: int, words: str) -> None:
    error = refusal(text)
    assert (error.code, error.where.source, error.where.line) == (code, "lesson.md", line)
    assert words in error.message


@pytest.mark.parametrize(
    "text",
    [
        "x" * (MOST_CHARACTERS + 1),
        with_block("x" * (LONGEST_LINE + 1)),
        with_block("```why\n```\n" * (MOST_BLOCKS + 1)),
        with_block(f'```graph {{name="{"a" * 2_000}"}}\n```'),
        with_block("```view {" + " ".join(f"a{i}=1" for i in range(MOST_OPTIONS + 2)) + "}\n```"),
    ],
)
def test_sizes_are_limited(text: str) -> None:
    assert refusal(text).code == "E-LESSON-SIZE"


@pytest.mark.parametrize("body", ["a = " + "[" * 5_000, f"a = {'9' * 5_000}"])
def test_hostile_toml_is_an_error_of_the_block(body: str) -> None:
    assert refusal(with_block(f"```why\n{body}\n```")).code == "E-LESSON-BLOCK"


def test_references_have_positions_and_filters() -> None:
    found = list(references_of(parsed(TEXT)))
    assert [str(reference) for _, reference in found] == ["{{not.code}}", "{{chain.nodes}}"]
    assert found[1][0] == Where("lesson.md", 14, 27, 15)
    reference = parse_reference("trips.fused.bytes | ratio")
    assert (reference.block, reference.path) == ("trips", ("fused", "bytes"))
    assert reference.filter == "ratio"
    assert filled("a {{x.y}} b", lambda r: r.block.upper()) == "a X b"


@pytest.mark.parametrize("text", ["", "x", "x.", "x.1", "x.y|", "x.y|a b", "a." * 200 + "b"])
def test_a_wrong_reference_is_an_error(text: str) -> None:
    with pytest.raises(CompileError, match="E-LESSON-TEXT"):
        parse_reference(text)


def test_written_toml_is_read_back() -> None:
    values = {"a": 'x "y" \n', "b": [1, True], "c d": {"é": {"f": 1.5}, "g": "h"}}
    table = read_toml(write_toml(values), Where("x", 1, 1))
    assert table.values == values
