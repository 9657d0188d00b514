"""Operators applied in tests: random operands, references, lowerings by the oracle, calls."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.compute.builder import Lowering
from compiler.compute.computation import Computation
from compiler.compute.evaluate import evaluate
from compiler.ir.graph import Node
from compiler.ir.operator import Array, Call, Operator, Out, Regioned, Sample, Tensor
from compiler.ir.types import DType, TensorType, Type, parse_type
from compiler.ops.evaluation.meaning import evaluate_node

Arrays = tuple[Array, ...]


def random_array(t: TensorType, rng: np.random.Generator) -> Array:
    """Return numbers that reveal bugs: of both signs, without zeros among integers."""
    shape = t.static_shape
    if t.dtype is DType.bool:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if t.dtype.is_float:
        return np.asarray(rng.normal(size=shape)).astype(t.dtype.numpy)
    values = rng.integers(1, 9, shape)
    if t.dtype.label[0] == "i":
        values = values * rng.choice([-1, 1], shape)
    return np.asarray(values).astype(t.dtype.numpy)


def operands_of(operator: Operator, sample: Sample, seed: int = 0) -> list[Array | None]:
    """Return arrays for the operands of a sample, the same in every run."""
    rng = np.random.default_rng(zlib.crc32(operator.name.encode()) + seed)
    arrays: list[Array | None] = []
    for o in sample.operands:
        if isinstance(o, str):
            t = parse_type(o)
            assert isinstance(t, TensorType)
            arrays.append(random_array(t, rng))
        else:
            arrays.append(o)
    return arrays


def tensors_of(
    operator: Operator, sample: Sample, arrays: Sequence[Array | None]
) -> list[Tensor | None]:
    """Return operands as type rules receive them: elements are known if the sample gives them."""
    names = operator.schema.operands
    made: list[Tensor | None] = []
    for position, (given, array) in enumerate(zip(sample.operands, arrays, strict=True)):
        if array is None:
            made.append(None)
            continue
        t = TensorType(DType.from_numpy(array.dtype), array.shape)
        name = names[min(position, len(names) - 1)] + str(position)
        made.append(Tensor(name, t, None if isinstance(given, str) else array))
    return made


def as_tuple(made: Any) -> tuple[Any, ...]:
    return made if isinstance(made, tuple) else (made,)


def reference(
    operator: Operator, arrays: Sequence[Array | None], attrs: Mapping[str, Any]
) -> Arrays:
    assert operator.reference_fn is not None
    with np.errstate(all="ignore"):
        made = operator.reference_fn(*arrays, **operator.bind(attrs))
    return tuple(np.asarray(a) for a in as_tuple(made))


def computation_of(
    operator: Operator, tensors: Sequence[Tensor | None], attrs: Mapping[str, Any]
) -> Computation:
    """Return the lowering of an application."""
    assert operator.lower_fn is not None
    bound = operator.bind(attrs)
    types = operator.infer(tensors, bound)
    k = Lowering(operator.name)
    handles = [None if t is None else k.input(t.name, t.type, t.value) for t in tensors]
    if not operator.schema.variadic:
        handles += [None] * (len(operator.schema.operands) - len(handles))
    outputs = [k.output(f"out{i}", t) for i, t in enumerate(types) if isinstance(t, TensorType)]
    operator.lower_fn(k, *handles, *outputs, **bound)
    return k.computation()


def lowered(
    operator: Operator,
    tensors: Sequence[Tensor | None],
    arrays: Sequence[Array | None],
    attrs: Mapping[str, Any],
) -> Arrays:
    """Return the results of the lowering, evaluated by the oracle."""
    computation = computation_of(operator, tensors, attrs)
    given = {
        t.name: a for t, a in zip(tensors, arrays, strict=True) if t is not None and a is not None
    }
    made = evaluate(computation, given)
    return tuple(made[name] for name in computation.outputs)


def value_of(operand: Any, arrays: Mapping[str, Array], *, by: str = "reference") -> Array | None:
    """Return the value of a nested call, by references or (if they exist) lowerings."""
    match operand:
        case None:
            return None
        case Tensor():
            return arrays[operand.name] if operand.name in arrays else operand.known
        case Out(call, index):
            return _results(call, arrays, by)[index]
        case Call():
            return _results(operand, arrays, by)[0]
        case _:
            return np.asarray(operand)


def _results(call: Call | Regioned, arrays: Mapping[str, Array], by: str) -> Arrays:
    operands = [value_of(a, arrays, by=by) for a in call.args]
    if isinstance(call, Regioned):
        names = tuple(f"o{i}" if o is not None else "" for i, o in enumerate(operands))
        outputs = tuple(f"y{i}" for i in range(len(call.results)))
        node = Node(call.op, names, outputs, call.results, call.attrs, regions=call.regions)
        made = evaluate_node(node, operands, arrays)
        for t, a in zip(call.results, made, strict=True):
            assert_type(t, a)
        return made
    tensors = [
        None if o is None else Tensor(f"o{i}", TensorType(DType.from_numpy(o.dtype), o.shape), o)
        for i, o in enumerate(operands)
    ]
    if by == "lowering" and call.op.lower_fn is not None:
        return lowered(call.op, tensors, operands, call.attrs)
    made = reference(call.op, operands, call.attrs)
    for t, a in zip(call.op.infer(tensors, call.op.bind(call.attrs)), made, strict=True):
        assert_type(t, a)
    return made


def assert_type(t: Type, array: Array) -> None:
    assert isinstance(t, TensorType)
    assert t.dtype.numpy == array.dtype, f"inferred {t}, got {array.dtype}"
    assert t.static_shape == array.shape, f"inferred {t}, got {list(array.shape)}"


TOLERANCE = {"f64": 1e-10, "f32": 2e-5, "f16": 2e-3, "bf16": 2e-2}


def assert_same(got: Array, needed: Array, *, exact: bool = False, slack: float = 1.0) -> None:
    """Check equality for integers and exact operators, else closeness on the result's scale."""
    assert got.dtype == needed.dtype, f"{got.dtype} instead of {needed.dtype}"
    assert got.shape == needed.shape, f"{got.shape} instead of {needed.shape}"
    dtype = DType.from_numpy(needed.dtype)
    if not dtype.is_float:
        np.testing.assert_array_equal(got, needed)
        return
    got64, needed64 = got.astype(np.float64), needed.astype(np.float64)
    if exact:
        np.testing.assert_array_equal(got64, needed64)
        return
    finite = np.abs(needed64[np.isfinite(needed64)])
    scale = min(max(finite.max(initial=0.0), 1e-30), 1.0)
    tolerance = TOLERANCE[dtype.label] * slack
    np.testing.assert_allclose(got64, needed64, rtol=tolerance, atol=tolerance * scale)
