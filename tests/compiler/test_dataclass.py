"""Tests that dataclasses with lazily generated methods behave like the standard library's."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from compiler import dataclass as home
from compiler.dataclass import dataclass

PACKAGE = Path(home.__file__).parent


def declared(make: Callable[..., Any], **options: Any) -> Any:
    @make(**options)
    class Box:
        """Two sizes and the contents."""

        n_kinds: ClassVar[int] = 3
        width: int
        height: float = 2.5
        content: list[str] = field(default_factory=list)
        note: str = field(default="", compare=False, repr=False)
        area: float = field(init=False, default=0.0)

        def __post_init__(self) -> None:
            object.__setattr__(self, "area", self.width * self.height)

    return Box


OPTIONS = [
    {"frozen": frozen, "slots": slots, "eq": eq}
    for frozen in (True, False)
    for slots in (True, False)
    for eq in (True, False)
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_instances_are_those_of_the_standard_library(options: dict[str, bool]) -> None:
    ours, theirs = declared(dataclass, **options), declared(dataclasses.dataclass, **options)
    for given, named in (
        ((3,), {}),
        ((3, 4.0), {"note": "n"}),
        ((), {"content": ["a"], "width": 7}),
    ):
        a, b = ours(*given, **named), theirs(*given, **named)
        assert repr(a) == repr(b)
        assert repr(replace(a, height=9.0)) == repr(replace(b, height=9.0))
        assert (a == ours(*given, **named)) is (b == theirs(*given, **named))
        assert (a == ours(8)) is (b == theirs(8))
        assert a != b
    assert ours.__match_args__ == theirs.__match_args__
    assert ours(1).content is not ours(1).content


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_whether_there_is_a_hash_is_as_in_the_standard_library(options: dict[str, bool]) -> None:
    ours, theirs = declared(dataclass, **options), declared(dataclasses.dataclass, **options)
    assert (ours.__hash__ is None) is (theirs.__hash__ is None)
    if options["eq"] and options["frozen"]:
        same = {"content": ("a",)}
        assert hash(ours(3, **same)) == hash(theirs(3, **same)) == hash(ours(3, note="n", **same))


@pytest.mark.parametrize("given", [(), (1, 2, 3, 4, 5, 6)])
def test_operands_that_do_not_fit_are_refused(given: tuple[int, ...]) -> None:
    Box = declared(dataclass, frozen=True, slots=True)
    for _ in range(2):  # before and after the method is generated
        with pytest.raises(TypeError, match=r"Box.__init__\(\)"):
            Box(*given)


@pytest.mark.parametrize("slots", [True, False])
def test_frozen_instances_stay_as_they_are(slots: bool) -> None:
    box = declared(dataclass, frozen=True, slots=slots)(3)
    with pytest.raises(FrozenInstanceError, match="'width'"):
        box.width = 4
    with pytest.raises(FrozenInstanceError, match="'width'"):
        del box.width
    assert box.width == 3


@dataclass(frozen=True, slots=True)
class Point:
    """Two coordinates."""

    x: int
    y: int = 5


@dataclass(frozen=True, slots=True)
class Named(Point):
    """A point with a name."""

    name: str = ""


@pytest.mark.parametrize("made", [Point(1), Named(1, 2, "here")])
def test_instances_can_be_copied_and_sent_to_other_processes(made: Point) -> None:
    assert copy.copy(made) == copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made


def test_a_class_of_a_class_has_the_fields_of_both() -> None:
    assert repr(Named(1, name="here")) == "Named(x=1, y=5, name='here')"
    assert Named(1) != Point(1)
    assert Point(1) == Point(1, 5)


def test_what_a_class_defines_itself_stays() -> None:
    @dataclass(frozen=True)
    class Word:
        """A word that equals words with other capitalisation."""

        text: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Word) and self.text.lower() == other.text.lower()

        def __hash__(self) -> int:
            return hash(self.text.lower())

        def __repr__(self) -> str:
            return f"<{self.text}>"

    assert {Word("Ab"), Word("aB")} == {Word("ab")}
    assert repr(Word("Ab")) == "<Ab>"


def test_equality_looks_at_identity_first() -> None:
    nan = float("nan")
    assert Point(nan) == Point(nan)  # type: ignore[arg-type]
    assert Point(nan) != Point(float("nan"))  # type: ignore[arg-type]


def test_a_value_within_itself_can_be_printed() -> None:
    @dataclass
    class Node:
        """A list of nodes."""

        next: list[Any]

    node = Node([])
    node.next.append(node)
    assert repr(node).endswith(".Node(next=[...])")


def test_all_of_the_compiler_uses_them() -> None:
    imported = re.compile(r"^from dataclasses import .*\bdataclass\b", re.M)
    modules = {p for p in PACKAGE.rglob("*.py") if imported.search(p.read_text())}
    assert not modules, "the standard library's version takes longer"
