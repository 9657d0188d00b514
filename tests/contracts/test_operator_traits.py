"""Tests that traits hold for the references, and that passes query traits instead of names.

The tests know no operators: they evaluate each declared property on random operands.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.compute.computation import Routine
from compiler.ir.operator import OPERATORS, Array, Operator, Trait, with_trait
from compiler.ir.types import DType
from compiler.ops.quantization.quantize import QUANTIZED
from compiler.passes.code_motion.moves import GROWS
from compiler.passes.code_motion.sink_elementwise import INCREASING
from compiler.passes.data_movement.orders import POSITIONAL
from compiler.passes.data_movement.region import INJECTIVE
from compiler.passes.engine.pattern import COMMUTATIVE
from compiler.passes.fusion.kinds import EXPENSIVE, REDUCTIONS
from compiler.passes.layout.units import CHANNELWISE
from compiler.passes.precision.storage import VIEWS
from tests.operator_samples import computation_of, operands_of, reference, tensors_of

PASSES = Path(__file__).resolve().parents[2] / "compiler" / "passes"
FEW = 3
"""Number of operator names from which on a literal counts as a list of operators."""

REASON = "# Own: "
"""Comment with the reason that a list of operators is a fact about the pass alone."""


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


def is_float(array: Array | None) -> bool:
    return array is not None and array.dtype in (np.float32, np.float64)


def elements(array: Array) -> set[bytes]:
    return {e.tobytes() for e in np.ascontiguousarray(array).reshape(-1)}


def test_passes_asked_when_all_operators_were_there() -> None:
    """Modules compute their sets of operators when they are imported."""
    assert with_trait("commutative") == COMMUTATIVE
    assert with_trait("expensive") == EXPENSIVE
    assert with_trait("positional") == POSITIONAL
    assert with_trait("injective") == INJECTIVE
    assert with_trait("aliasing") == VIEWS
    assert with_trait("increasing") == INCREASING
    assert with_trait("channelwise") == CHANNELWISE
    assert with_trait("repeating") == GROWS
    reductions = with_trait("axis_reduction") | with_trait("pooling")
    assert reductions - with_trait("staged") == REDUCTIONS


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


def places_of(operator: Operator) -> Iterator[tuple[int, list[int]]]:
    """Yield the size of the first operand, and all its positions that each sample copies."""
    for seed, sample in enumerate(operator.all_samples()):
        x, *others = operands_of(operator, sample, seed)
        assert x is not None
        places = np.arange(x.size, dtype=np.int64).reshape(x.shape)
        results = reference(operator, [places, *others], sample.attrs)
        yield x.size, [int(p) for made in results for p in made.reshape(-1)]


@having("single_source")
def test_the_first_operand_determines_all_elements(operator: Operator) -> None:
    assert "copying" in operator.traits
    for size, copied in places_of(operator):
        assert set(copied) <= set(range(size))


@having("single_source")
def test_some_sample_drops_elements_exactly_if_the_operator_may(operator: Operator) -> None:
    drops = [len(set(copied)) < size for size, copied in places_of(operator) if copied]
    assert any(drops) == ("dropping" in operator.traits)


@having("single_source")
def test_some_sample_repeats_elements_exactly_if_the_operator_may(operator: Operator) -> None:
    repeats = [len(set(copied)) < len(copied) for _, copied in places_of(operator)]
    assert any(repeats) == ("repeating" in operator.traits)


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


@each({n for n, o in OPERATORS.items() if o.kind == "movement" and o.lower_fn is not None})
def test_exactly_the_scattering_operators_store_in_routines(operator: Operator) -> None:
    for seed, sample in enumerate(operator.all_samples()):
        tensors = tensors_of(operator, sample, operands_of(operator, sample, seed))
        stages = computation_of(operator, tensors, sample.attrs).stages
        assert any(isinstance(s, Routine) for s in stages) == ("scattering" in operator.traits), (
            "the lowering of a `scattering` operator has a routine for all operands, and that of "
            f"another `movement` operator has none: sample {seed}"
        )


@having("random")
def test_the_seed_determines_all_numbers(operator: Operator) -> None:
    for arrays, attrs, made in applied(operator):
        again, other = (
            reference(operator, arrays, {**attrs, "seed": seed})[0]
            for seed in (attrs.get("seed", 0), 12345)
        )
        np.testing.assert_array_equal(again, made)
        assert not made.size or (other != made).any()


@having("affine")
def test_steps_of_the_first_operand_give_equal_steps(operator: Operator) -> None:
    """Operands are in f64, with steps and factors that are exact in binary."""
    for (x, *others), attrs, _ in applied(operator):
        if not is_float(x) or not all(o is None or np.isfinite(o).all() for o in (x, *others)):
            continue
        assert x is not None
        rest = [None if o is None else o.astype(np.float64) for o in others]
        points = [reference(operator, [x * 0.0 + n, *rest], attrs)[0] for n in (0, 1, 2, 5)]
        np.testing.assert_allclose(points[2] - points[1], points[1] - points[0], 1e-4)
        np.testing.assert_allclose(points[3] - points[2], 3 * (points[1] - points[0]), 1e-4)


def increases_of(operator: Operator) -> Iterator[tuple[Array, Array]]:
    """Yield ascending numbers and their results, for each sample with fitting parameters."""
    rng = np.random.default_rng(len(operator.name))
    numbers = np.concatenate([rng.normal(size=60) * s for s in (0.1, 1, 10, 1e3)])
    x = np.sort(np.append(numbers, [-np.inf, -0.0, 0.0, np.inf])).astype(np.float32)
    for sample in operator.all_samples():
        n_others = len(sample.operands) - 1
        attrs = operator.bind(sample.attrs)
        for number in (-2.5, 0.0, 0.75, np.inf):
            if not operator.increases([number] * n_others, attrs):
                continue
            others = [np.full((), number, np.float32)] * n_others
            yield x, reference(operator, [x, *others], sample.attrs)[0]


@having("increasing")
def test_results_never_decrease(operator: Operator) -> None:
    pairs = list(increases_of(operator))
    assert pairs
    for _, made in pairs:
        assert not np.isnan(made).any(), "an increasing operator has NaN only for NaN"
        assert (made[1:] >= made[:-1]).all()


@having("nearly_increasing")
def test_results_decrease_only_by_rounding(operator: Operator) -> None:
    pairs = list(increases_of(operator))
    assert pairs
    for _, made in pairs:
        assert not np.isnan(made).any(), "an increasing operator has NaN only for NaN"
        highest = np.maximum.accumulate(made)
        np.testing.assert_allclose(made, highest, rtol=4e-7)


@each(with_trait("increasing") | with_trait("nearly_increasing"))
def test_nan_stays_nan(operator: Operator) -> None:
    n_others = len(operator.schema.operands) - 1
    others = [np.ones((), np.float32)] * n_others
    made = reference(operator, [np.full(2, np.nan, np.float32), *others], {})[0]
    assert np.isnan(made).all()


def is_whole(array: Array) -> bool:
    wide = numbers(array).astype(np.float64)
    return bool((~np.isfinite(wide) | (wide == np.round(wide))).all())


@having("integral")
def test_all_results_are_integers(operator: Operator) -> None:
    for arrays, attrs, made in applied(operator):
        scaled = [a * 100 if is_float(a) and a is not None else a for a in arrays]
        assert is_whole(made)
        assert is_whole(reference(operator, scaled, attrs)[0])


@having("integer_preserving")
def test_integers_give_integers(operator: Operator) -> None:
    for arrays, attrs, _ in applied(operator):
        whole = [a if a is None or a.dtype.kind != "f" else np.rint(a * 10) for a in arrays]
        assert is_whole(reference(operator, whole, attrs)[0])


@having("axis_reduction")
def test_axes_disappear_or_have_size_1(operator: Operator) -> None:
    for (x,), attrs, made in applied(operator):
        assert x is not None
        sizes = [None if d in attrs["axes"] else n for d, n in enumerate(x.shape)]
        kept = attrs.get("keepdims", True)
        assert list(made.shape) == [1 if n is None else n for n in sizes if kept or n is not None]


@having("axis_reduction")
def test_other_axes_are_independent(operator: Operator) -> None:
    """The elements along other axes may change places, as in a transpose."""
    for (x,), attrs, _ in applied(operator):
        assert x is not None
        order = tuple(reversed(range(x.ndim)))
        axes = tuple(sorted(x.ndim - 1 - a for a in attrs["axes"]))
        same = {**attrs, "keepdims": True}
        moved = reference(operator, [x.transpose(order)], {**same, "axes": axes})[0]
        plain = reference(operator, [x], same)[0]
        np.testing.assert_allclose(
            numbers(moved.transpose(order)), numbers(plain), rtol=2e-3, atol=1e-6
        )


@having("maximum")
def test_a_maximum_commutes_with_increasing_functions(operator: Operator) -> None:
    """Ranks are an increasing function: the maximum of ranks is the rank of the maximum."""
    for (x, *_), attrs, made in applied(operator):
        assert x is not None
        if not made.size or np.isnan(numbers(x)).any():
            continue
        steps = np.unique(x)
        ranks = np.searchsorted(steps, x).astype(np.int64)
        index = reference(operator, [ranks], attrs)[0]
        inside = (index >= 0) & (index < len(steps))  # An empty window has another result.
        np.testing.assert_array_equal(steps[index[inside]], made[inside])


@each(with_trait("axis_reduction") | with_trait("pooling") | with_trait("staged"))
def test_a_staged_reduction_has_several_stages(operator: Operator) -> None:
    for seed, sample in enumerate(operator.all_samples()):
        arrays = operands_of(operator, sample, seed)
        tensors = tensors_of(operator, sample, arrays)
        n_stages = len(computation_of(operator, tensors, sample.attrs).stages)
        assert (n_stages > 1) == ("staged" in operator.traits)


@having("channelwise")
def test_channels_do_not_depend_on_each_other(operator: Operator) -> None:
    for (x, *others), attrs, made in applied(operator):
        assert x is not None
        if x.ndim < 3 or x.shape[1] < 2 or made.ndim != x.ndim or made.shape[1] != x.shape[1]:
            continue
        changed = x.copy()
        changed[:, 0] += 1
        other = reference(operator, [changed, *others], attrs)[0]
        np.testing.assert_array_equal(numbers(other[:, 1:]), numbers(made[:, 1:]))


@having("quantized")
def test_an_operand_or_result_is_a_quantized_integer(operator: Operator) -> None:
    for seed, sample in enumerate(operator.all_samples()):
        arrays = operands_of(operator, sample, seed)
        results = reference(operator, arrays, sample.attrs)
        types = {DType.from_numpy(a.dtype) for a in (*arrays, *results) if a is not None}
        assert types & (QUANTIZED | {DType.i32})


@having("expensive")
def test_only_elementwise_operators_are_expensive(operator: Operator) -> None:
    assert operator.kind == "elementwise"


def literals(path: Path) -> Iterator[tuple[ast.expr, frozenset[str]]]:
    """Yield literal collections that consist mostly of operator names, with the names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Set | ast.Tuple | ast.List | ast.Dict):
            continue
        items = node.keys if isinstance(node, ast.Dict) else node.elts
        texts = [i.value for i in items if isinstance(i, ast.Constant)]
        names = frozenset(t for t in texts if isinstance(t, str)) & OPERATORS.keys()
        if len(names) >= FEW and 2 * len(names) > len(items):
            yield node, names


def test_lists_in_passes_state_their_reason() -> None:
    """Tables of handlers need none; a list without reason may be a fact about the operators."""
    found: list[str] = []
    for path in PASSES.rglob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        for node, names in literals(path):
            if not isinstance(node, ast.Dict) and REASON not in lines[node.lineno - 1]:
                found.append(f"{path.name}:{node.lineno}: {sorted(names)}")
    assert not found, (
        "query a trait, or state the reason as `# Own: ...` on the first line of the list: "
        f"see docs/adding-a-pass.md; {found}"
    )


def test_no_pass_lists_the_operators_of_a_trait() -> None:
    """A trait of fewer than FEW operators does not count: a table of handlers may name them all."""
    traits = {t: with_trait(t) for t in Trait.__args__}
    found = [
        f"{path.name}:{node.lineno} is `{trait}`"
        for path in PASSES.rglob("*.py")
        for node, names in literals(path)
        for trait, all_names in traits.items()
        if len(all_names) >= FEW and all_names <= names
    ]
    assert not found, f"query the trait with `with_trait`: {found}"
