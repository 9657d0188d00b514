"""Random graphs of samples of the registered operators, drawn and shrunk by hypothesis.

Every step draws an operator and one of its samples. The operands are earlier values if possible:
values of the required type, values that are cast, cut, repeated and reshaped to it, or (for
elementwise operators) entire samples cast to the type of an earlier value. So outputs become
inputs, values are shared, and views, movement and constants occur between the operators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from compiler.errors import CompileError
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Result, Value
from compiler.ir.operator import OPERATORS, Array, Operator, Sample, Tensor
from compiler.ir.types import DType, TensorType, parse_type

NOT_DRAWN = {"fusion", "relayout"}
"""Operators that only passes create."""

DRAWN = sorted(n for n, o in OPERATORS.items() if n not in NOT_DRAWN and o.lower_fn is not None)

TAKES_WHOLE_NUMBERS = {"one_hot"}
"""Operators that read integers from floats."""

MAX_ELEMENTS = 2000
"""Steps with a larger result are omitted."""

OTHER_TYPES: dict[str, tuple[str, ...]] = {
    "f32": ("f32", "f32", "f32", "f32", "f64", "f16", "bf16"),
    "i64": ("i64", "i64", "i32", "i8", "i16"),
    "u8": ("u8", "u16", "u32", "u64"),
}
"""Substitutes for the element type of a sample, with their probabilities."""

Draw = Callable[[st.SearchStrategy[Any]], Any]


@st.composite
def random_graphs(draw: Draw, max_steps: int = 10) -> Graph:
    """Return a graph of static types with at least one result, and code for every operator."""
    maker = _Maker(draw)
    for _ in range(draw(st.integers(1, max_steps))):
        maker.step()
    return maker.graph()


class _Maker:
    """A graph that grows step by step."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.editor = Editor(Graph("random", (), (), ()))
        self.values: list[str] = []
        """Results of steps, and inputs; constants and adapted values are not selected again."""

    # Steps

    def step(self) -> None:
        """Apply one more operator; if it refuses the drawn operands, leave the graph unchanged."""
        operator = OPERATORS[self.draw(st.sampled_from(DRAWN))]
        samples = operator.all_samples()
        sample = samples[self.draw(st.integers(0, len(samples) - 1))]
        for choice in self._variants(operator, sample):
            if self._fits(operator, choice):
                self._apply(operator, choice)
                return

    def _variants(self, operator: Operator, sample: Sample) -> list[Sample]:
        """Return the sample at an earlier value or another element type, then the original."""
        found = [sample]
        if operator.kind == "elementwise" and self.draw(st.booleans()):
            moved = self._at_a_value(sample)
            if moved is not None:
                return [moved, *found]
        label = first_dtype(sample)
        other = self.draw(st.sampled_from(OTHER_TYPES.get(label, (label,))))
        return [exchanged(sample, label, other), *found] if other != label else found

    def _at_a_value(self, sample: Sample) -> Sample | None:
        """Return operands of one value's type, which an elementwise operator may accept."""
        if not self.values or not all(isinstance(o, str) for o in sample.operands):
            return None
        t = self.editor.type(self.draw(st.sampled_from(self.values)))
        return Sample(tuple(str(t) for _ in sample.operands), sample.attrs)

    def _fits(self, operator: Operator, sample: Sample) -> bool:
        """Return whether the type rule accepts the sample, with small results."""
        tensors = [
            None if o is None else Tensor(f"o{i}", _typed(o), None if isinstance(o, str) else o)
            for i, o in enumerate(sample.operands)
        ]
        try:
            types = operator(*tensors, **sample.attrs).types()
        except CompileError:
            return False
        return all(
            isinstance(t, TensorType) and math.prod(t.static_shape) <= MAX_ELEMENTS for t in types
        )

    def _apply(self, operator: Operator, sample: Sample) -> None:
        names = [self._operand(o) for o in sample.operands]
        to = sample.attrs.get("to")
        if (isinstance(to, DType) and not to.is_float) or operator.name in TAKES_WHOLE_NUMBERS:
            low = 0.0 if isinstance(to, DType) and to.label[0] == "u" else -100.0
            names[0] = self._within(names[0], low)
        call = operator(*(self.editor.tensor(n) if n else None for n in names), **sample.attrs)
        outputs = [self.editor.fresh(operator.name) for _ in call.types()]
        self.editor.build(call, outputs=outputs)
        self.values += outputs

    # Operands

    def _operand(self, given: str | Array | None) -> str:
        """Return a value for an operand of a sample; "" if it is omitted."""
        if given is None:
            return ""
        if not isinstance(given, str):
            return self.editor.add_constant(given)
        t = _typed(given)
        same = [v for v in self.values if self.editor.type(v) == t]
        if same and self.draw(st.integers(0, 3)):
            return self.draw(st.sampled_from(same))
        others = [v for v in self.values if math.prod(self._tensor(v).static_shape)]
        way = self.draw(st.integers(0, 3))
        if way == 0 and t.dtype.is_float:
            return self.editor.add_constant(_numbers(t, self.draw(st.integers(0, 99))))
        if way >= 2 and others:
            return self._adapted(self.draw(st.sampled_from(others)), t)
        return self._input(t)

    def _input(self, t: TensorType) -> str:
        name = self.editor.fresh("x")
        self.editor.add_input(Value(name, t))
        self.values.append(name)
        return name

    def _tensor(self, value: str) -> TensorType:
        t = self.editor.type(value)
        assert isinstance(t, TensorType)
        return t

    def _adapted(self, value: str, t: TensorType) -> str:
        """Return the elements of a value, cut or repeated, as a tensor of this type."""
        value = self._as_element_type(value, t.dtype)
        have, need = math.prod(self._tensor(value).static_shape), math.prod(t.static_shape)
        if have != need:
            value = self._call("reshape", value, np.array([have]))
        if have < need:
            value = self._call("tile", value, np.array([-(-need // have)]))
        if have != need:
            value = self._call("slice", value, np.array([0]), np.array([need]), np.array([0]), None)
        if self._tensor(value).static_shape != t.static_shape:
            shape = np.array(t.static_shape, np.int64)
            value = self._call("reshape", value, shape, allowzero=0 in t.static_shape)
        return value

    def _as_element_type(self, value: str, dtype: DType) -> str:
        """Cast a value; floats become integers by their sign, since NaN has no integer value."""
        have = self._tensor(value).dtype
        if have is dtype:
            return value
        if have.is_float and not dtype.is_float:
            value = self._call("greater", value, np.zeros((), have.numpy))
            if dtype is DType.bool:
                return value
        return self._call("cast", value, to=dtype)

    def _within(self, value: str, low: float) -> str:
        """Clip a float to `low` to 100 without NaN, a range that integers can represent."""
        dtype = self._tensor(value).dtype
        if not dtype.is_float:
            return value
        limits = (np.array(low, dtype.numpy), np.array(100, dtype.numpy))
        clipped = self._call("clip", value, *limits)
        odd = self.editor.tensor(self._call("isnan", value))
        where = OPERATORS["where"](odd, np.zeros((), dtype.numpy), self.editor.tensor(clipped))
        return self.editor.build(where, hint="where")

    def _call(self, name: str, value: str, *constants: Array | None, **attrs: Any) -> str:
        made = OPERATORS[name](self.editor.tensor(value), *constants, **attrs)
        return self.editor.build(made, hint=name)

    # The end

    def graph(self) -> Graph:
        """Return the graph; all unread values, and some others, are results."""
        made = [v for v in self.values if self.editor.producer(v) is not None]
        chosen = [v for v in made if not self.editor.n_uses(v) or not self.draw(st.integers(0, 3))]
        if not chosen:
            chosen = [self._input(TensorType(DType.f32, (2, 3)))]
        self.editor.results = [Result(f"r{i}", v) for i, v in enumerate(chosen)]
        made_graph = self.editor.graph()
        read = {v for n in made_graph.nodes for v in n.reads} | made_graph.result_values
        inputs = tuple(v for v in made_graph.inputs if v.name in read)
        return Graph("random", inputs, made_graph.results, made_graph.nodes, made_graph.constants)


def _type(operand: str | Array | None) -> TensorType | None:
    return None if operand is None else _typed(operand)


def _typed(operand: str | Array) -> TensorType:
    if not isinstance(operand, str):
        return TensorType(DType.from_numpy(operand.dtype), operand.shape)
    t = parse_type(operand)
    assert isinstance(t, TensorType)
    return t


def first_dtype(sample: Sample) -> str:
    """Return the element type of the first operand that is not omitted; "" for none."""
    return next((str(t.dtype) for t in map(_type, sample.operands) if t is not None), "")


def exchanged(sample: Sample, label: str, other: str) -> Sample:
    """Return the sample with another element type instead of `label`."""

    def change(o: str | Array | None) -> str | Array | None:
        if o is None or str(_typed(o).dtype) != label:
            return o
        if isinstance(o, str):
            return str(TensorType(DType.parse(other), _typed(o).shape))
        with np.errstate(over="ignore"):
            return o.astype(DType.parse(other).numpy)

    return Sample(tuple(map(change, sample.operands)), sample.attrs)


def _numbers(t: TensorType, seed: int) -> Array:
    """Return elements of a constant: often all equal, or zeros and ones, which rules match."""
    chance = np.random.default_rng(seed)
    if seed % 4 == 0:
        return np.full(t.static_shape, (0, 1, 2, -1, 0.5)[seed // 4 % 5]).astype(t.dtype.numpy)
    return np.asarray(chance.normal(size=t.static_shape)).astype(t.dtype.numpy)


def random_feeds(graph: Graph, seed: int, special: Sequence[float] = ()) -> dict[str, Array]:
    """Return an array for every input; every eighth float is a special number, if any."""
    chance = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for v in graph.inputs:
        assert isinstance(v.type, TensorType)
        shape, dtype = v.type.static_shape, v.type.dtype
        if dtype is DType.bool:
            array = chance.random(shape) < 0.5
        elif dtype.is_float:
            array = chance.normal(0, 2, shape)
            if special:
                array = np.where(chance.random(shape) < 0.125, chance.choice(special, shape), array)
        else:
            array = chance.integers(1, 9, shape)
            if dtype.label[0] == "i":
                array = array * chance.choice([-1, 1], shape)
        found[v.name] = np.asarray(array).astype(dtype.numpy)
    return found
