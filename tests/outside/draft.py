"""A model under construction: every node runs as soon as it is added, so all values are known.

A node that ONNX Runtime refuses never becomes part of a model. Steps can inspect the numbers:
whether a divisor is 0, or the sizes of a result.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    helper,
    numpy_helper,
)

from tests.outside.peer import IR_VERSION, PeerRefused, run_node
from tests.outside.values import (
    FLOATS,
    MOST_ELEMENTS,
    NARROW,
    Array,
    Shape,
    code,
    label_of,
    numpy_type,
    some_array,
    some_shape,
)

LARGEST = 1e6
"""Magnitude limit of results; steps beyond it, or with NaN or infinities, are dropped."""


class Dropped(Exception):
    """The step cannot be added to this draft."""


class Draft:
    """The nodes so far, with the value of every result; a body has its outer draft in `outer`."""

    def __init__(
        self, chance: random.Random, opset: int, outer: Draft | None = None, prefix: str = ""
    ) -> None:
        self.chance, self.opset, self.outer, self.prefix = chance, opset, outer, prefix
        self.nodes: list[NodeProto] = []
        self.values: dict[str, Any] = dict(outer.values) if outer else {}
        self.local: list[str] = []
        """Results of steps in this draft and its inputs, in order; constants are not selected
        again."""
        self.inputs: list[str] = []
        self.constants: dict[str, TensorProto] = {}
        self.favourite = chance.choice(("f32", "f32", "f32", "f32", *FLOATS, "i64", "i32"))
        self.n_names = 0

    @property
    def depth(self) -> int:
        """Return the number of enclosing bodies."""
        return 0 if self.outer is None else self.outer.depth + 1

    # Steps

    def attempt(self, step: Callable[[], None]) -> bool:
        """Perform a step, or leave the draft unchanged if the step is dropped."""
        before = (len(self.nodes), len(self.local), len(self.inputs), set(self.values))
        constants = set(self.constants)
        try:
            step()
        except (Dropped, PeerRefused):
            del self.nodes[before[0] :]
            del self.local[before[1] :]
            del self.inputs[before[2] :]
            self.values = {k: v for k, v in self.values.items() if k in before[3]}
            self.constants = {k: v for k, v in self.constants.items() if k in constants}
            return False
        return True

    def node(
        self, op: str, inputs: Sequence[str], n_outputs: int | Sequence[bool] = 1, **attrs: Any
    ) -> list[str]:
        """Add a node and run it. Errors: Dropped, PeerRefused."""
        wanted = [True] * n_outputs if isinstance(n_outputs, int) else list(n_outputs)
        outputs = [self.fresh(op.lower()) if w else "" for w in wanted]
        attrs = {k: v for k, v in attrs.items() if v is not None}
        node = helper.make_node(op, list(inputs), outputs, name=outputs[0] or outputs[-1])
        for name, value in attrs.items():
            node.attribute.append(_attribute(op, name, value))
        made = run_node(node, self.values, self.opset)
        self.adopt(node, made)
        return outputs

    def adopt(self, node: NodeProto, made: Sequence[Any]) -> None:
        """Add a node with known results. Errors: Dropped for very large or undefined results."""
        names = [n for n in node.output if n]
        if not all(map(is_tame, made)):
            raise Dropped
        self.nodes.append(node)
        for name, value in zip(names, made, strict=True):
            self.values[name] = value
            self.local.append(name)

    def one(self, op: str, inputs: Sequence[str], **attrs: Any) -> str:
        """Return the result of a node with one result."""
        return self.node(op, inputs, 1, **attrs)[0]

    # Values

    def fresh(self, stem: str) -> str:
        self.n_names += 1
        return f"{self.prefix}{stem}_{self.n_names}"

    def shape(self, name: str) -> Shape:
        return tuple(int(n) for n in self.values[name].shape)

    def label(self, name: str) -> str:
        return label_of(self.values[name])

    def constant(self, value: Any, label: str = "i64") -> str:
        """Return a constant: an initializer, or the result of a Constant."""
        array = value if isinstance(value, np.ndarray) else np.asarray(value, numpy_type(label))
        name = self.fresh("c")
        proto = tensor_proto(array, name)
        if self.chance.random() < 0.8:
            self.constants[name] = proto
        else:
            node = helper.make_node("Constant", [], [name], name=name)
            node.attribute.append(helper.make_attribute("value", proto))
            self.nodes.append(node)
        self.values[name] = array
        return name

    def given(self, array: Array) -> str:
        """Return a model input; inside bodies, and for narrow types, a constant."""
        root = self.outer is None
        if not root or label_of(array) in NARROW or self.chance.random() < 0.25:
            return self.constant(array)
        name = self.fresh("x")
        self.inputs.append(name)
        self.values[name] = array
        self.local.append(name)
        return name

    def new(self, label: str, shape: Sequence[int]) -> str:
        """Return a new input or constant of random numbers."""
        return self.given(some_array(self.chance, label, shape))

    def numbers(self, values: Sequence[int] | int, label: str = "i64") -> str:
        """Return integers as an operand: mostly a constant, else an input of the model."""
        array = np.asarray(values, numpy_type(label))
        return self.constant(array) if self.chance.random() < 0.85 else self.given(array)

    # Choosing operands

    def found(self, fits: Callable[[Any], bool], labels: Collection[str]) -> str:
        """Return an earlier value, preferably a recent one; "" if there is none."""
        names = [n for n in self._visible() if self._is_tensor(n, labels) and fits(self.values[n])]
        if not names:
            return ""
        return self.chance.choice(names[-6:] if self.chance.random() < 0.6 else names)

    def _visible(self) -> list[str]:
        outer = self.outer._visible() if self.outer else []
        return [*outer, *self.local]

    def _is_tensor(self, name: str, labels: Collection[str]) -> bool:
        value = self.values[name]
        return isinstance(value, np.ndarray) and label_of(value) in labels

    def some_label(self, labels: Collection[str]) -> str:
        if self.favourite in labels and self.chance.random() < 0.5:
            return self.favourite
        if "f32" in labels and self.chance.random() < 0.5:
            return "f32"
        return self.chance.choice(sorted(labels))

    def tensor(
        self,
        labels: Collection[str],
        rank: tuple[int, int] = (0, 5),
        fits: Callable[[Any], bool] = lambda _: True,
    ) -> str:
        """Return a value of one of these types: an earlier, a cast, or a new value."""
        low, high = rank

        def suits(v: Any) -> bool:
            return low <= v.ndim <= high and fits(v)

        label = self.some_label(labels)
        way = self.chance.random()
        if way < 0.8 and (name := self.found(suits, (label,)) or self.found(suits, labels)):
            return name
        if label != "str" and way < 0.9 and (name := self.found(suits, NARROWABLE)):
            return self.cast(name, label)
        for _ in range(20):
            shape = some_shape(self.chance, low, high)
            array = some_array(self.chance, label, shape)
            if fits(array):
                return self.given(array)
        raise Dropped

    def like(self, label: str, shape: Sequence[int]) -> str:
        """Return a value of exactly this type and shape: an earlier, an adapted, or a new value."""
        shape = tuple(shape)
        way = self.chance.random()
        if way < 0.7 and (name := self.found(lambda v: v.shape == shape, (label,))):
            return name
        fits = way < 0.8 and label != "str"  # floats have several texts
        if fits and (name := self.found(lambda v: v.shape == shape, NARROWABLE)):
            return self.cast(name, label)
        size = int(np.prod(shape))
        if way < 0.88 and (name := self.found(lambda v: v.size == size, (label,))):
            return self.one("Reshape", [name, self.constant(shape)])
        return self.new(label, shape)

    def cast(self, name: str, label: str) -> str:
        """Return the value in another type, after clipping to the range of this type."""
        if self.label(name) == label:
            return name
        if self.label(name) in FLOATS and label not in FLOATS and label != "bool":
            low = 0.0 if label.startswith("u") else -100.0
            if self.outer is not None or not within(self.values[name], low, 100):
                own = self.label(name)
                name = self.one("Max", [name, self.constant(np.asarray(low, numpy_type(own)))])
                name = self.one("Min", [name, self.constant(np.asarray(100, numpy_type(own)))])
        return self.one("Cast", [name], to=code(label))

    def axis(self, rank: int) -> int:
        """Return an axis, negative in half of the cases."""
        k = self.chance.randrange(rank)
        return k - rank if self.chance.random() < 0.5 else k

    def axes(self, rank: int, low: int = 0) -> list[int]:
        """Return distinct axes in any order, some negative."""
        n = self.chance.randint(min(low, rank), rank)
        return [a - rank if self.chance.random() < 0.4 else a for a in self._sample(rank, n)]

    def _sample(self, rank: int, n: int) -> list[int]:
        made = self.chance.sample(range(rank), n)
        return made if self.chance.random() < 0.2 else sorted(made)

    def maybe(self, likely: float = 0.5) -> bool:
        return self.chance.random() < likely

    # The model

    def graph(self, outputs: Sequence[str], name: str = "drawn") -> GraphProto:
        """Return the nodes as a graph with these results, whose types are omitted."""
        inputs = [value_info(n, self.values[n]) for n in self.inputs]
        made = helper.make_graph(self.nodes, name, inputs, [], [*self.constants.values()])
        for output in outputs:
            made.output.add().CopyFrom(value_info(output, self.values[output], ranked=False))
        return made

    def model(self, outputs: Sequence[str]) -> ModelProto:
        return helper.make_model(
            self.graph(outputs),
            opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=IR_VERSION,
        )


NARROWABLE = ("f32", "f64", "f16", "i8", "i16", "i32", "i64", "u8", "bool")
"""Types from which a value may be cast to the required type."""


def is_tame(value: Any) -> bool:
    """Return whether a value is finite, and within the limits on magnitude and elements."""
    if value is None:
        return True
    if isinstance(value, list):
        return len(value) < 20 and all(is_tame(v) for v in value)
    if not isinstance(value, np.ndarray) or value.size > MOST_ELEMENTS or value.ndim > 6:
        return False
    if value.dtype == object or value.dtype.kind in "biu" or label_of(value) in ("i4", "u4"):
        return True
    wide = value.astype(np.float64)
    limit = 1000 if label_of(value) == "f16" else LARGEST
    return bool(np.isfinite(wide).all()) and float(np.abs(wide).max(initial=0)) < limit


def within(value: Array, low: float, high: float) -> bool:
    """Return whether all numbers are in a range."""
    wide = value.astype(np.float64)
    return not wide.size or (low <= float(wide.min()) and float(wide.max()) <= high)


def value_info(name: str, value: Any, ranked: bool = True) -> Any:
    """Return the declaration of an input or result with this value."""
    if isinstance(value, list):
        items: list[Any] = value
        label = label_of(items[0]) if items else "f32"
        return helper.make_tensor_sequence_value_info(name, code(label), None)
    shape = list(value.shape) if ranked else None
    return helper.make_tensor_value_info(name, code(label_of(value)), shape)


def tensor_proto(array: Array, name: str) -> TensorProto:
    """Return a constant of ONNX."""
    label = label_of(array)
    if label == "str":
        proto = TensorProto(name=name, data_type=code(label), dims=array.shape)
        proto.string_data.extend(str(s).encode() for s in array.flat)
        return proto
    made = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
    assert made.data_type == code(label), (made.data_type, label)
    return made


def _attribute(op: str, name: str, value: Any) -> AttributeProto:
    if isinstance(value, np.ndarray):
        value = tensor_proto(value, "")
    if isinstance(value, list) and not value:
        return AttributeProto(name=name, type=AttributeProto.INTS)
    return helper.make_attribute(name, value)
