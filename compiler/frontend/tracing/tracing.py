"""The recorder of a traced model: inputs, constants and nodes, with immediate type inference."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod, sqrt
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError, require
from compiler.frontend.tracing.tensor import Tensor
from compiler.ir.affine import Affine
from compiler.ir.constant import Constant, Seeded
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.infer import MAX_RANK, Facts, infer, node_types
from compiler.ir.operator import OPERATORS, Operator
from compiler.ir.parser import SEEDS
from compiler.ir.types import DType, TensorType, Type
from compiler.ir.verify import verify

Operand = Any
"""An operand: tensor, number, list of numbers, numpy array, or None if omitted."""


@dataclass(frozen=True, slots=True)
class TracingLimits:
    """The limits of a traced model. Units: counts."""

    n_nodes: int = 20_000
    n_elements: int = 1 << 30
    """The maximum total number of elements of all constants, including seeded constants."""
    list_elements: int = 1 << 16
    """The maximum number of elements of one list."""


class Tracing:
    """A model during tracing; every tensor belongs to one model."""

    def __init__(self, name: str, limits: TracingLimits | None = None) -> None:
        self.name = name
        self.limits = limits or TracingLimits()
        self.facts = Facts({}, {})
        self.inputs: list[Value] = []
        self.constants: dict[str, Constant] = {}
        self.nodes: list[Node] = []
        self.n_elements = 0
        self.counts: dict[str, int] = {}
        self.unnamed: dict[str, int] = {}
        """Maps each unread value with a default name to the index of its node, or to -1 for a
        constant."""

    # Elements of a model

    def input(self, name: str, t: Type) -> Tensor:
        """Add an input. Errors: E-GRAPH-NAME for a name in use."""
        require(name not in self.facts.types, "E-GRAPH-NAME", f"{name!r} is defined twice")
        check_input(name, t)
        self.inputs.append(Value(name, t))
        self.facts.types[name] = t
        return Tensor(self, name, t)

    def constant(self, c: Constant) -> Tensor:
        """Add a constant. Errors: E-WRITE-LIMIT."""
        self.n_elements += c.type.n_elements
        most = self.limits.n_elements
        require(
            self.n_elements <= most,
            "E-WRITE-LIMIT",
            f"the constants would have {self.n_elements:,} elements; the limit is {most:,}",
        )
        [name] = self._free_names("c", 1)
        self.constants[name] = c
        self.facts.constant(name, c)
        self.unnamed[name] = -1
        return Tensor(self, name, c.type)

    def splat(self, shape: Sequence[int], value: float, dtype: DType = DType.f32) -> Tensor:
        """Add a constant of equal elements. Errors: E-WRITE-VALUE, E-WRITE-LIMIT."""
        t = TensorType(type_named(dtype), sizes(shape))
        is_number = isinstance(value, int | float)
        require(is_number, "E-WRITE-VALUE", f"needed a number, got {shown(value)}")
        try:
            element = np.asarray(value, dtype.numpy)[()]
        except (OverflowError, ValueError, TypeError) as e:
            message = f"{dtype} cannot represent {shown(value)}: {e}"
            raise CompileError("E-WRITE-VALUE", message) from e
        return self.constant(Constant.splat(element, t))

    def listed(self, values: Any, dtype: DType | None = None) -> Tensor:
        """Add a constant from an array, a number, or lists of numbers."""
        array = self._array(values)
        if dtype is None and not isinstance(values, np.ndarray | np.generic):
            dtype = {"f": DType.f32, "b": DType.bool}.get(array.dtype.kind, DType.i64)
        if dtype is not None and not isinstance(values, np.ndarray | np.generic):
            _check_whole(array, type_named(dtype))
        try:
            return self.constant(Constant.of(array, dtype and type_named(dtype)))
        except (OverflowError, ValueError, TypeError) as e:
            message = f"{dtype} cannot represent these numbers: {e}"
            raise CompileError("E-WRITE-VALUE", message) from e

    def weight(
        self,
        shape: Sequence[int],
        seed: int = 0,
        deviation: float | None = None,
        dtype: DType = DType.f32,
    ) -> Tensor:
        """Add normally distributed weights, with a deviation that keeps activations in range.

        The default deviation is 1 / sqrt(fan-in). The fan-in of a matrix is its number of rows; for
        higher ranks, the fan-in is the product of all sizes except the first.
        Source: LeCun et al. 1998, Efficient BackProp, 4.6. Errors: E-WRITE-VALUE, E-WRITE-LIMIT.
        """
        dims = sizes(shape)
        require(
            type_named(dtype).is_float,
            "E-WRITE-VALUE",
            f"random weights must be floats, not {dtype}",
        )
        is_seed = isinstance(seed, int) and 0 <= seed < SEEDS
        require(
            is_seed, "E-WRITE-VALUE", f"a seed must be an integer below {SEEDS:,}, got {seed!r}"
        )
        if deviation is None:
            fan_in = prod(dims[1:]) if len(dims) > 2 else dims[0] if dims else 1
            deviation = float(f"{1 / sqrt(max(fan_in, 1)):.4g}")
        fits = isinstance(deviation, int | float) and 0 <= deviation < float("inf")
        require(fits, "E-WRITE-VALUE", f"a deviation must be at least 0, got {deviation!r}")
        return self.constant(Constant(TensorType(dtype, dims), Seeded(seed, float(deviation))))

    def apply(
        self, op: Operator, operands: Iterable[Operand], options: Mapping[str, Any]
    ) -> Tensor | tuple[Tensor, ...]:
        """Add a node: operands by position or by name, attributes by name.

        For elementwise operators, numbers take the element type of the first tensor; otherwise,
        integers and lists of integers are i64.
        Errors: E-OP-*, E-WRITE-*, and the errors of the operator's type rule.
        """
        n_nodes = len(self.nodes)
        most = self.limits.n_nodes
        require(n_nodes < most, "E-WRITE-LIMIT", f"the model would have more than {most:,} nodes")
        given, attrs = _by_position(op, list(operands), options)
        attrs = op.bind(attrs)
        like = next((o.dtype for o in given if isinstance(o, Tensor)), None)
        tensors = [self._as_tensor(op, o, like) for o in given]
        inputs = tuple(t.name if t is not None else "" for t in tensors)
        op.schema.check_operands(op.name, tensors)
        plan = Node(op.name, inputs, (op.name,), (), attrs, op.name, (op.name,))
        types, known = self.facts.operands(plan)
        inferred = node_types(plan, types, known, self.facts.types)
        outputs = self._free_names(op.name, len(inferred))
        node = replace(plan, outputs=outputs, types=inferred, name=outputs[0], origins=outputs[:1])
        self.facts.types.update(zip(outputs, inferred, strict=True))
        self.facts.evaluate(node, types, known, inferred)
        self.nodes.append(node)
        for i in inputs:
            self.unnamed.pop(i, None)
        self.unnamed.update(dict.fromkeys(outputs, n_nodes))
        made = tuple(Tensor(self, o, t) for o, t in zip(outputs, inferred, strict=True))
        return made[0] if len(made) == 1 else made

    def rename(self, tensor: Tensor, name: str) -> None:
        """Rename a value after a variable if the value has no explicit name and no reader."""
        at = self.unnamed.pop(tensor.name, None)
        if at is None or tensor.tracing is not self:
            return
        old, (new,) = tensor.name, self._free_names(name, 1)
        tensor.name = new
        self.facts.types[new] = self.facts.types.pop(old)
        if old in self.facts.known:
            self.facts.known[new] = self.facts.known.pop(old)
        if at < 0:
            self.constants[new] = self.constants.pop(old)
            return
        node = self.nodes[at]
        outputs = tuple(new if o == old else o for o in node.outputs)
        self.nodes[at] = replace(node, outputs=outputs, name=outputs[0], origins=outputs[:1])

    def graph(self, results: Mapping[str, Tensor]) -> Graph:
        """Return the verified graph with these results. Errors: E-WRITE-VALUE."""
        require(bool(results), "E-WRITE-VALUE", "the model returns nothing")
        made = Graph(
            self.name,
            tuple(self.inputs),
            tuple(Result(name, t.name) for name, t in results.items()),
            tuple(self.nodes),
            self.constants,
        )
        typed = infer(made)[0]
        verify(typed)
        return typed

    def result_names(self, results: Sequence[Tensor]) -> dict[str, Tensor]:
        """Name results after their values; a value returned twice gets a numeric suffix."""
        named: dict[str, Tensor] = {}
        for t in results:
            name, n = t.name, 1
            while name in named:
                name, n = f"{t.name}_{n}", n + 1
            named[name] = t
        return named

    # Conversion of operands to names.

    def _as_tensor(self, op: Operator, operand: Operand, like: DType | None) -> Tensor | None:
        if operand is None:
            return None
        if isinstance(operand, Tensor):
            message = "the tensor belongs to another model"
            require(operand.tracing is self, "E-WRITE-VALUE", message)
            return operand
        array = self._array(operand)
        if isinstance(operand, np.ndarray | np.generic):
            return self.constant(Constant.of(array))
        return self.listed(operand, _dtype_of(op, array, like))

    def _array(self, operand: Operand) -> np.ndarray[Any, Any]:
        if isinstance(operand, list | tuple):
            operand = [_size(o) for o in operand]
        try:
            array = np.asarray(operand)
        except (ValueError, TypeError, OverflowError):
            array = np.empty((), np.object_)
        most = self.limits.list_elements
        if isinstance(operand, list):
            require(
                array.size <= most, "E-WRITE-LIMIT", f"a list may have at most {most:,} numbers"
            )
        if array.dtype.kind not in "biuf" and not isinstance(operand, np.ndarray):
            needed = "a tensor, a number, or a list of numbers"
            raise CompileError("E-WRITE-VALUE", f"needed {needed}, got {shown(operand)}")
        return array

    def _free_names(self, wanted: str, how_many: int) -> tuple[str, ...]:
        """Return unused names: the requested name, with numeric suffixes if necessary."""
        names: list[str] = []
        n = self.counts.get(wanted, 0)
        while len(names) < how_many:
            name = f"{wanted}_{n}" if n else wanted
            n += 1
            if name not in self.facts.types:
                names.append(name)
        self.counts[wanted] = n
        return tuple(names)


def operator_named(name: str) -> Operator:
    """Return the operator of this name. Errors: E-TEXT-OPERATOR, with a similar name as hint."""
    found = OPERATORS.get(name)
    if found is None:
        hint = like_one_of(name, OPERATORS)
        raise CompileError("E-TEXT-OPERATOR", f"there is no operator {name!r:.60}", hint=hint)
    return found


def like_one_of(name: str, known: Iterable[str]) -> str:
    """Return a hint with similar names, or ""."""
    close = difflib.get_close_matches(name[:60], list(known), n=2)
    return f"did you mean {' or '.join(close)}?" if close else ""


def sizes(shape: Any) -> tuple[int, ...]:
    """Convert the sizes of a constant.

    Errors: E-WRITE-VALUE for a value other than a list of integers.
    """
    dims = shape if isinstance(shape, list | tuple) else [shape]
    for d in dims:
        fits = isinstance(d, int) and not isinstance(d, bool) and 0 <= d < 1 << 40
        needed = "a shape is a list of integers, such as [64, 32]"
        require(fits, "E-WRITE-VALUE", f"{needed}; got {shown(d)}")
    require(len(dims) <= 16, "E-WRITE-VALUE", f"constants have at most 16 axes, not {len(dims)}")
    return tuple(dims)


def check_input(name: str, t: Type) -> None:
    """Check that an array of the input's type can exist. Errors: E-OP-SHAPE."""
    sizes = t.shape if isinstance(t, TensorType) and t.shape is not None else ()
    fits = all(not isinstance(d, int) or 0 <= d < 1 << 62 for d in sizes)
    words = f"no array has the type of {name!r:.60}, {t!s:.60}"
    require(fits and len(sizes) <= MAX_RANK, "E-OP-SHAPE", words)


def type_named(dtype: Any) -> DType:
    """Convert a value to a numeric element type. Errors: E-WRITE-VALUE."""
    fits = isinstance(dtype, DType) and dtype is not DType.string
    require(fits, "E-WRITE-VALUE", f"needed an element type such as f32, got {shown(dtype)}")
    return dtype


def shown(value: Any) -> str:
    """Abbreviate a value for a message."""
    match value:
        case Tensor():
            return f"the tensor {value.name}"
        case Affine():
            return f"the open size {value}"
        case int() | float() | str() | None:
            return f"{value!r:.60}"
        case Operator(name=name):
            return f"the operator {name}"
        case list() | tuple():
            return f"a list of length {len(value)}"
        case _:
            return f"a {type(value).__name__}"


def _size(element: Any) -> Any:
    if isinstance(element, Affine):
        raise CompileError(
            "E-WRITE-VALUE",
            f"the size {element} is open, so it has no numeric value here",
            hint="write -1 for one open size of a reshape, or read it from shape(x)",
        )
    return element


def check_option(op: Operator, name: str, value: Any) -> None:
    """Check that an operator has an attribute or operand of this name. Errors: E-OP-ATTRIBUTE."""
    if name in op.schema.attributes:
        op.schema.value(op.name, name, value)
        return
    known = {*op.schema.attributes, *(() if op.schema.variadic else op.schema.operands)}
    words = f"{op.name} has {', '.join(sorted(known)) or 'no attributes'}"
    hint = like_one_of(name, known) or words
    message = f"{op.name} has no attribute {name!r:.60}"
    require(name in known, "E-OP-ATTRIBUTE", message, hint=hint)


def _by_position(
    op: Operator, operands: list[Operand], options: Mapping[str, Any]
) -> tuple[list[Operand], dict[str, Any]]:
    """Move operands passed by name to their positions; the other named values are attributes."""
    attrs: dict[str, Any] = {}
    for name, value in options.items():
        check_option(op, name, value)
        if name in op.schema.attributes:
            attrs[name] = value
            continue
        at = op.schema.operands.index(name)
        taken = at < len(operands) and operands[at] is not None
        require(not taken, "E-OP-OPERANDS", f"{op.name} got {name!r} twice")
        operands += [None] * (at + 1 - len(operands))
        operands[at] = value
    return operands, attrs


def _check_whole(array: np.ndarray[Any, Any], dtype: DType) -> None:
    """Check that an integer type represents these numbers exactly.

    Errors: E-WRITE-VALUE.
    """
    if not dtype.is_integer or not array.size:
        return
    signed = dtype.label[0] == "i"
    low, end = -(1 << dtype.bits - 1) if signed else 0, 1 << dtype.bits - signed
    fits = (array >= low) & (array < end) & (array == np.floor(array))
    if not fits.all():
        odd = array[~fits].flat[0].item()
        raise CompileError("E-WRITE-VALUE", f"{dtype} cannot represent {odd!r}")


def _dtype_of(op: Operator, array: np.ndarray[Any, Any], like: DType | None) -> DType:
    """Choose the element type of Python numbers."""
    if array.dtype.kind == "b":
        return DType.bool
    if array.dtype.kind == "f":
        return like if like is not None and like.is_float else DType.f32
    if op.kind == "elementwise" and like is not None and like is not DType.bool:
        return like
    return DType.i64
