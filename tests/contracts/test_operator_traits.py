"""Tests that traits hold for the references, and that passes query traits instead of names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.ir.operator import OPERATORS, Array, Operator, Trait, with_trait
from compiler.passes.data_movement.orders import POSITIONAL
from compiler.passes.data_movement.region import INJECTIVE
from compiler.passes.engine.pattern import COMMUTATIVE
from compiler.passes.fusion.kinds import EXPENSIVE
from compiler.passes.precision.storage import VIEWS
from tests.operator_samples import operands_of, reference

PASSES = Path(__file__).resolve().parents[2] / "compiler" / "passes"
FEW = 3
"""Number of operator names from which on a literal counts as a list of operators."""


def each(names: set[str] | frozenset[str]) -> Any:
    return pytest.mark.parametrize(
        "operator", [OPERATORS[n] for n in sorted(names)], ids=lambda o: o.name
    )


def having(trait: Trait) -> Any:
    return each(with_trait(trait))


def applied(operator: Operator) -> Iterator[tuple[list[Array | None], Any, Array]]:
    """Yield operands, attributes and the first result of each sample."""
    for seed, sample in enumerate(operator.all_samples()):
        arrays = operands_of(operator, sample, seed)
        yield arrays, sample.attrs, reference(operator, arrays, sample.attrs)[0]


def flipped(array: Array | None) -> Array | None:
    return None if array is None else np.ascontiguousarray(np.flip(array))


def numbers(array: Array) -> Array:
    """Return narrow floats as f64, in which NaN equals NaN."""
    return array.astype(np.float64) if array.dtype.isbuiltin != 1 else array


def elements(array: Array) -> set[bytes]:
    return {e.tobytes() for e in np.ascontiguousarray(array).reshape(-1)}


def test_passes_asked_when_all_operators_were_there() -> None:
    """Modules compute their sets of operators when they are imported."""
    assert with_trait("commutative") == COMMUTATIVE
    assert with_trait("expensive") == EXPENSIVE
    assert with_trait("positional") == POSITIONAL
    assert with_trait("injective") == INJECTIVE
    assert with_trait("aliasing") == VIEWS


@having("commutative")
def test_operands_may_change_places(operator: Operator) -> None:
    for (a, b), attrs, made in applied(operator):
        np.testing.assert_array_equal(reference(operator, [b, a], attrs)[0], made)


@having("aliasing")
def test_a_view_has_the_elements_of_its_operand_in_order(operator: Operator) -> None:
    assert operator.kind == "view"
    for arrays, _, made in applied(operator):
        assert arrays[0] is not None
        np.testing.assert_array_equal(made.reshape(-1), arrays[0].reshape(-1))


@having("copying")
def test_each_element_is_one_of_the_operands(operator: Operator) -> None:
    for arrays, _, made in applied(operator):
        given = [a for a in arrays if a is not None and a.dtype == made.dtype]
        assert elements(made) <= set[bytes]().union(*map(elements, given))


@having("injective")
def test_places_alone_say_which_element_is_read(operator: Operator) -> None:
    for (x, *others), attrs, made in applied(operator):
        assert x is not None
        places = np.arange(x.size, dtype=np.int64).reshape(x.shape)
        index = reference(operator, [places, *others], attrs)[0]
        np.testing.assert_array_equal(x.reshape(-1)[index], made)


@each({n for n, o in OPERATORS.items() if o.kind == "elementwise"} - with_trait("positional"))
def test_elements_elsewhere_give_the_same_elsewhere(operator: Operator) -> None:
    """All axes of operands and results are flipped; block boundaries would not be symmetric."""
    for arrays, attrs, made in applied(operator):
        if not attrs.get("block_size"):
            there = reference(operator, [flipped(a) for a in arrays], attrs)[0]
            np.testing.assert_array_equal(numbers(np.flip(there)), numbers(made))


@each({n for n, o in OPERATORS.items() if o.value_range is not None})
def test_floats_lie_in_the_range(operator: Operator) -> None:
    assert operator.value_range is not None
    low, high = operator.value_range
    for _, _, made in applied(operator):
        if made.dtype.kind == "f":
            told = made[~np.isnan(made)]
            assert ((low <= told) & (told <= high)).all()


@having("expensive")
def test_only_elementwise_operators_are_expensive(operator: Operator) -> None:
    assert operator.kind == "elementwise"


def lists_of_operators(path: Path) -> Iterator[tuple[int, frozenset[str]]]:
    """Yield line and names of literal collections that consist mostly of operator names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Set | ast.Tuple | ast.List | ast.Dict):
            continue
        items = node.keys if isinstance(node, ast.Dict) else node.elts
        texts = [i.value for i in items if isinstance(i, ast.Constant)]
        names = frozenset(t for t in texts if isinstance(t, str)) & OPERATORS.keys()
        if len(names) >= FEW and 2 * len(names) > len(items):
            yield node.lineno, names


def test_no_pass_lists_the_operators_of_a_trait() -> None:
    traits = {t: with_trait(t) for t in Trait.__args__}
    found = [
        f"{path.name}:{line} is `{trait}`"
        for path in PASSES.rglob("*.py")
        for line, names in lists_of_operators(path)
        for trait, all_names in traits.items()
        if all_names <= names
    ]
    assert not found
