"""What an operator is: one declaration with all its facets, and the registry of them.

    @op(kind="reduction")
    def softmax(x: Tensor, *, axis: int = -1) -> Tensor: ...

The function's signature is the schema (operands positional, attributes keyword-only), its body the
type rule, its docstring the words on the page. The facets follow as decorators: `reference`,
`cost`, `lower` or `decompose`, `onnx` and its way back `export`, `samples`. A call,
`softmax(x, axis=1)`, describes an application; importers and rules give such calls to the editor,
which makes nodes of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.schema import Schema
from compiler.ir.types import Dim, DType, TensorType, Type

if TYPE_CHECKING:
    from compiler.ir.graph import Graph

Kind = Literal[
    "elementwise",  # each result element from the same element of each operand, after broadcasting
    "view",  # same elements in the same order: no work when layouts agree
    "movement",  # elements copied to other places
    "reduction",  # many elements into one along some axes
    "contraction",  # sums of products: matmul, convolution
    "scan",  # sequential along an axis
    "opaque",  # anything else; evaluated by the reference
]

Trait = Literal[
    "commutative",  # the two operands may change places
    "aliasing",  # the result is the memory of its operand: a view that copies nothing
    "copying",  # each element of the result is some element of the operands, whatever it means
    "injective",  # one operand is read, at an index that places and attributes alone determine
    "expensive",  # elementwise: more than a few instructions, not worth computing twice
    "positional",  # elementwise in cost only: the place of an element matters, or its size changes
]
"""A fact about an operator that passes ask for, as traits are in MLIR."""

Array = np.ndarray[Any, np.dtype[Any]]

_NOTED_OPERANDS = 6  # whose types are told with the error of a type rule


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """An operand as a type rule sees it: name, type, and its elements when they are known.

    `value` is a numpy array; one of dtype object holds symbolic dimensions (see affine.py).
    """

    name: str
    type: TensorType
    value: Array | None = None

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.type.dtype

    @property
    def shape(self) -> tuple[Dim, ...]:
        """Dimensions; the rank must be known."""
        return self.type.dims

    @property
    def rank(self) -> int:
        """Number of axes; must be known."""
        return self.type.rank

    @property
    def known(self) -> Array:
        """The elements as numbers. Errors: E-SHAPE-OPEN when not known at compile time."""
        if self.value is None or self.value.dtype == np.object_:
            raise CompileError("E-SHAPE-OPEN", f"the elements of {self.name} are not known yet")
        return self.value


Operand = Any
"""Tensor, Call, Out, numpy array (becomes a constant), None (left out), or a placeholder."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """An application of an operator to operands: a description, not yet a node."""

    op: Operator
    args: tuple[Operand, ...]
    attrs: Mapping[str, Any]

    def types(self) -> tuple[Type, ...]:
        """The types of the outputs, when all operands are tensors, arrays or calls of such."""
        return self.op.infer([as_tensor(a) for a in self.args], self.op.bind(self.attrs))

    @property
    def type(self) -> TensorType:
        """The type of the first output, a tensor."""
        t = self.types()[0]
        assert isinstance(t, TensorType)
        return t

    def out(self, index: int) -> Out:
        """One of several outputs."""
        return Out(self, index)


@dataclass(frozen=True, slots=True, eq=False)
class Regioned:
    """An application of an operator with regions, such as `onnx.Scan`: a description of one node.

    The regions capture operands by the names of the graph in which it will stand; `results` are
    the types of its outputs.
    """

    op: str
    args: tuple[Operand, ...]
    attrs: Mapping[str, Any]
    regions: Mapping[str, Graph]
    results: tuple[Type, ...]

    def types(self) -> tuple[Type, ...]:
        """The types of the outputs."""
        return self.results

    def out(self, index: int) -> Out:
        """One of the outputs."""
        return Out(self, index)


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """A node of the ONNX standard over operands: a description, as `export` facets give it.

    Attributes that are None are left out. Standard nodes may have calls for operands, not the
    other way round: their types are not known here.
    """

    op_type: str
    args: tuple[Operand, ...]
    attrs: Mapping[str, Any]
    domain: str = ""
    n_outputs: int = 1

    def out(self, index: int) -> Out:
        """One of several outputs."""
        return Out(self, index)


def standard(
    op_type: str, *args: Operand, domain: str = "", n_outputs: int = 1, **attrs: Any
) -> Standard:
    """A node of this type over these operands."""
    return Standard(op_type, args, attrs, domain, n_outputs)


@dataclass(frozen=True, slots=True, eq=False)
class Out:
    """The output number `index` of a call."""

    call: Call | Regioned | Standard
    index: int


def as_tensor(operand: Operand) -> Tensor | None:
    """An operand of a call as a type rule sees it."""
    match operand:
        case None:
            return None
        case Tensor():
            return operand
        case Call():
            return Tensor("", operand.type)
        case Out(Call() | Regioned() as call, index):
            t = call.types()[index]
            assert isinstance(t, TensorType)
            return Tensor("", t)
        case np.ndarray() | np.generic():
            array = np.asarray(operand)
            return Tensor("", TensorType(DType.from_numpy(array.dtype), array.shape), array)
        case _:
            raise TypeError(f"{operand!r} is no operand with a type")


@dataclass(frozen=True, slots=True)
class Cost:
    """Work of one application, counted, not timed. Units: operations, bytes."""

    flops: int = 0
    bytes_read: int = 0
    bytes_written: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.flops + other.flops,
            self.bytes_read + other.bytes_read,
            self.bytes_written + other.bytes_written,
        )

    @property
    def bytes_moved(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written


@dataclass(frozen=True, slots=True)
class Sample:
    """One small application: operand types as text (or arrays where the elements matter)."""

    operands: tuple[str | Array | None, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OnnxCall:
    """An ONNX node as an `onnx` facet sees it."""

    op_type: str
    domain: str
    opset: int
    operands: tuple[Tensor | None, ...]
    attrs: Mapping[str, Any]
    n_outputs: int

    def operand(self, index: int) -> Tensor | None:
        """The operand at this position; None when left out."""
        return self.operands[index] if index < len(self.operands) else None

    def attr(self, name: str, default: Any = None) -> Any:
        """The attribute of this name, or the default."""
        return self.attrs.get(name, default)


@dataclass(slots=True, eq=False)
class Operator:
    """An operator: its schema and all its facets."""

    name: str
    rule: Callable[..., Any]
    kind: Kind
    shape_math: bool = False
    """Whether the reference also works on arrays of symbolic dimensions (dtype object)."""
    inplace: tuple[int, ...] = ()
    """Operands whose memory the first output may take over."""
    exact: bool = True
    """Whether the generated code must give the reference's very bits (integers, movement)."""
    bounded: bool = True  # False: data may ask for far more work than the cost facet says
    traits: Collection[Trait] = ()
    value_range: tuple[float, float] | None = None
    """Bounds of all elements of a float result that is no NaN, whatever the operands are."""

    reference_fn: Callable[..., Any] | None = None
    cost_fn: Callable[..., Cost] | None = None
    lower_fn: Callable[..., None] | None = None
    decompose_fn: Callable[..., Operand] | None = None
    gradient_fn: Callable[..., tuple[Operand, ...]] | None = None
    samples_fn: Callable[[], Iterator[tuple[Any, ...]]] | None = None
    onnx_names: tuple[str, ...] = ()
    export_fn: ExportFacet | None = None
    schema: Schema = field(init=False)
    """Operands and attributes, from the rule's signature."""

    def __post_init__(self) -> None:
        self.schema = Schema.of(self.rule)

    @property
    def words(self) -> str:
        """The docstring: what the page shows."""
        return inspect.getdoc(self.rule) or ""

    @property
    def source(self) -> str:
        """File and line of the declaration, relative to the package."""
        code = self.rule.__code__
        return f"{code.co_filename.rpartition('compiler/')[2]}:{code.co_firstlineno}"

    # Facets, each a decorator.

    def reference(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """What it means: numpy arrays in (None for left out), array or tuple of arrays out."""
        self.reference_fn = fn
        return fn

    def cost(self, fn: Callable[..., Cost]) -> Callable[..., Cost]:
        """What it costs: called with operand types, then `out=` (type or tuple) and attributes."""
        self.cost_fn = fn
        return fn

    def lower(self, fn: Callable[..., None]) -> Callable[..., None]:
        """What it computes, point by point: see compute/builder.py."""
        self.lower_fn = fn
        return fn

    def decompose(self, fn: Callable[..., Operand]) -> Callable[..., Operand]:
        """The same as a composition of other operators: operands in, call out."""
        self.decompose_fn = fn
        return fn

    def gradient(
        self, fn: Callable[..., tuple[Operand, ...]]
    ) -> Callable[..., tuple[Operand, ...]]:
        """How its gradient goes back: that of the result, the result and the operands in, one
        gradient an operand out (None for none), each of the result's shape or the operand's."""
        self.gradient_fn = fn
        return fn

    def samples(self, fn: Callable[[], Iterator[tuple[Any, ...]]]) -> Callable[..., Any]:
        """Yields (operands, attributes): odd, edge and asymmetric cases for tests and the page."""
        self.samples_fn = fn
        return fn

    def onnx(self, *names: str) -> Callable[[OnnxFacet], OnnxFacet]:
        """How ONNX nodes of these names become calls: OnnxCall in, call out.

        A name of another domain is written `domain:Name`. Returning None carries the node as it is.
        """

        def register(fn: OnnxFacet) -> OnnxFacet:
            for name in names:
                assert name not in ONNX, f"two operators import {name}"
                ONNX[name] = fn
            self.onnx_names += names
            return fn

        return register

    def export(self, fn: ExportFacet) -> ExportFacet:
        """How it is written in ONNX: operands in, standard nodes or calls out; None for neither."""
        self.export_fn = fn
        return fn

    def exports_as(self, op_type: str, domain: str = "") -> None:
        """It is written as one node of the standard, with attributes of the same names."""
        self.export_fn = lambda *operands, **attrs: Standard(op_type, operands, attrs, domain)

    # Use.

    def __call__(self, *args: Operand, **attrs: Any) -> Call:
        """An application of the operator, as a description."""
        return Call(self, args, attrs)

    def bind(self, attrs: Mapping[str, Any]) -> dict[str, Any]:
        """Attributes with defaults filled in, in declaration order. Errors: E-OP-ATTRIBUTE."""
        return self.schema.bind(self.name, attrs)

    def infer(
        self, operands: Sequence[Tensor | None], attrs: Mapping[str, Any]
    ) -> tuple[Type, ...]:
        """Types of the outputs for bound attributes.

        Errors: whatever the type rule raises, with a note of what the operands are.
        """
        self.schema.check_operands(self.name, operands)
        try:
            result = self.rule(*operands, **attrs)
        except CompileError as e:
            told = [f"{t.name} is {t.type}" for t in operands if t is not None and t.name]
            raise e.noting("; ".join(told[:_NOTED_OPERANDS])) from None
        results = result if isinstance(result, tuple) else (result,)
        return tuple(r.type.logical if isinstance(r, Tensor) else r for r in results)

    def all_samples(self) -> list[Sample]:
        """The samples facet as a list."""
        assert self.samples_fn is not None, f"{self.name} has no samples"
        return [Sample(tuple(operands), attrs) for operands, attrs in self.samples_fn()]


OnnxFacet = Callable[[OnnxCall], "Operand | tuple[Operand, ...] | None"]

ExportFacet = Callable[..., "Operand | tuple[Operand, ...] | None"]

OPERATORS: dict[str, Operator] = {}
ONNX: dict[str, OnnxFacet] = {}


@overload
def op(rule: Callable[..., Any], /) -> Operator: ...
@overload
def op(
    *,
    kind: Kind,
    shape_math: bool = False,
    inplace: tuple[int, ...] = (),
    exact: bool = True,
    bounded: bool = True,
    traits: Collection[Trait] = (),
    value_range: tuple[float, float] | None = None,
    name: str = "",
) -> Callable[[Callable[..., Any]], Operator]: ...
def op(rule: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Declare an operator; its name is the function's unless given."""

    def declare(fn: Callable[..., Any]) -> Operator:
        name = options.pop("name", "") or fn.__name__.rstrip("_")
        assert name not in OPERATORS, f"operator {name} is declared twice"
        options.setdefault("kind", "opaque")
        OPERATORS[name] = Operator(name, fn, **options)
        return OPERATORS[name]

    return declare(rule) if rule is not None else declare


def with_trait(trait: Trait) -> frozenset[str]:
    """The names of all operators that declare a trait."""
    return frozenset(name for name, o in OPERATORS.items() if trait in o.traits)
