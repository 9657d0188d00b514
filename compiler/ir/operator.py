"""Declarations of operators with all facets, and the registry of operators.

    @op(kind="reduction")
    def softmax(x: Tensor, *, axis: int = -1) -> Tensor: ...

The function's signature is the schema: operands are positional, attributes keyword-only. The
function's body is the type rule; the function's docstring is the description on the page.
Decorators add the facets `reference`, `cost`, `lower` or `decompose`, `onnx` (import), `export` and
`samples`. A call, `softmax(x, axis=1)`, describes an application. Importers and rules pass calls to
the editor, which creates nodes.
"""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError, require
from compiler.ir.schema import Schema
from compiler.ir.types import Dim, DType, TensorType, Type

if TYPE_CHECKING:
    from compiler.ir.graph import Graph

Kind = Literal[
    "elementwise",  # each result element depends on one element of each operand, after broadcasting
    "view",  # same elements in the same order: no work if layouts agree
    "movement",  # elements copied to other positions
    "reduction",  # many elements combined into one along some axes
    "contraction",  # sums of products: matmul, convolution
    "scan",  # sequential along an axis
    "opaque",  # any other operator, often a routine
]

Trait = Literal[
    # Data movement
    "aliasing",  # the result shares its operand's memory: a view that copies nothing
    "copying",  # each result element is a copy of an operand element; the types do not matter
    "single_source",  # copying, and only from the first operand; the others are parameters
    "injective",  # a result element's position and the attributes determine one index to read
    "dropping",  # copying, but some operand elements may be absent from the results
    "repeating",  # copying, and an operand element may occur several times in the results
    "scattering",  # stores elements at positions computed from data
    # Elementwise functions
    "commutative",  # the two operands may be exchanged
    "expensive",  # elementwise, with too many instructions to compute twice
    "positional",  # elementwise in cost only: depends on element positions, or changes sizes
    "random",  # elements are pseudorandom numbers, determined by the attribute `seed`
    "affine",  # affine in the first operand, for constant other operands
    "increasing",  # never decreasing in the first operand (see `increases`); NaN only for NaN
    "nearly_increasing",  # increasing before rounding
    "integral",  # each float result is an integer, infinite or NaN
    "integer_preserving",  # integral if all operands are integral
    # Reductions
    "axis_reduction",  # reduces `axes`, which the result retains with size 1 if `keepdims`
    "pooling",  # reduces each window of an image
    "staged",  # a reduction that reads its operand several times
    "maximum",  # each result element is the largest of several operand elements
    "channelwise",  # each channel of an image depends only on the same channel of the first operand
    # Quantization
    "quantized",  # reads or writes quantized integers: only quantized models contain it
]
"""A trait of an operator, queried by passes, as in MLIR."""

Array = np.ndarray[Any, np.dtype[Any]]

_NOTED_OPERANDS = 6  # the maximum number of operands listed with an error of a type rule


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """An operand in a type rule: name, type, and its elements if known.

    `value` is a numpy array; an array of dtype object contains symbolic dimensions (see affine.py).
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
        """The dimensions; the rank must be known."""
        return self.type.dims

    @property
    def rank(self) -> int:
        """The number of axes, which must be known."""
        return self.type.rank

    @property
    def known(self) -> Array:
        """Return the elements of the operand as numbers.

        Errors: E-SHAPE-OPEN if the elements are unknown at compile time.
        """
        if self.value is None or self.value.dtype == np.object_:
            raise CompileError(
                "E-SHAPE-OPEN", f"the elements of {self.name} are unknown at compile time"
            )
        return self.value


Operand = Any
"""An operand: Tensor, Call, Out, numpy array (for a constant), None (omitted), or a placeholder."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """An application of an operator to operands: a description, not yet a node."""

    op: Operator
    args: tuple[Operand, ...]
    attrs: Mapping[str, Any]

    def types(self) -> tuple[Type, ...]:
        """Infer the output types; operands may be tensors, arrays, or calls."""
        return self.op.infer([as_tensor(a) for a in self.args], self.op.bind(self.attrs))

    @property
    def type(self) -> TensorType:
        """The type of the first output, a tensor."""
        t = self.types()[0]
        assert isinstance(t, TensorType)
        return t

    def out(self, index: int) -> Out:
        """Describe one of several outputs of this application."""
        return Out(self, index)


@dataclass(frozen=True, slots=True, eq=False)
class Regioned:
    """An application of an operator with regions, such as `onnx.Scan`, before a node is created.

    The regions capture values of the enclosing graph by name; `results` are the output types.
    """

    op: str
    args: tuple[Operand, ...]
    attrs: Mapping[str, Any]
    regions: Mapping[str, Graph]
    results: tuple[Type, ...]

    def types(self) -> tuple[Type, ...]:
        """Return the types of the outputs."""
        return self.results

    def out(self, index: int) -> Out:
        """Describe one of the outputs of this application."""
        return Out(self, index)


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """An application of an ONNX operator, as `export` facets return it.

    Attributes with the value None are omitted from the ONNX node. Operands of standard nodes may be
    calls of declared operators. Operands of calls must not be standard nodes, because the types of
    standard nodes are unknown.
    """

    op_type: str
    args: tuple[Operand, ...]
    attrs: Mapping[str, Any]
    domain: str = ""
    n_outputs: int = 1

    def out(self, index: int) -> Out:
        """Describe one of several outputs of this application."""
        return Out(self, index)


def standard(
    op_type: str, *args: Operand, domain: str = "", n_outputs: int = 1, **attrs: Any
) -> Standard:
    """Describe an ONNX node of this operator type with these operands."""
    return Standard(op_type, args, attrs, domain, n_outputs)


@dataclass(frozen=True, slots=True, eq=False)
class Out:
    """Output `index` of a call."""

    call: Call | Regioned | Standard
    index: int


def as_tensor(operand: Operand) -> Tensor | None:
    """Convert an operand of a call to an operand of a type rule."""
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
            raise TypeError(f"{operand!r} is not an operand with a type")


@dataclass(frozen=True, slots=True)
class Cost:
    """The amount of work of one application, counted statically. Units: operations, bytes."""

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
    """A small example call: operands are types as text, or arrays if their elements matter."""

    operands: tuple[str | Array | None, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OnnxCall:
    """An ONNX node in an `onnx` facet."""

    op_type: str
    domain: str
    opset: int
    operands: tuple[Tensor | None, ...]
    attrs: Mapping[str, Any]
    n_outputs: int

    def operand(self, index: int) -> Tensor | None:
        """Return the operand at a position; None if omitted."""
        return self.operands[index] if index < len(self.operands) else None

    def attr(self, name: str, default: Any = None) -> Any:
        """Return the attribute of this name, or the default if the node lacks the attribute."""
        return self.attrs.get(name, default)

    def required(self, name: str) -> Any:
        """Return a mandatory attribute. Errors: E-MODEL-ATTRIBUTE if the node lacks it."""
        require(
            name in self.attrs,
            "E-MODEL-ATTRIBUTE",
            f"{self.op_type} needs the attribute {name!r}",
        )
        return self.attrs[name]


@dataclass(slots=True, eq=False)
class Operator:
    """An operator: its schema and all facets."""

    name: str
    rule: Callable[..., Any]
    kind: Kind
    shape_math: bool = False
    """Whether the reference also works on arrays of symbolic dimensions (dtype object)."""
    inplace: tuple[int, ...] = ()
    """Operands whose memory the first output may reuse."""
    exact: bool = True
    """Whether generated code must give the same bits as the reference (integers, data movement)."""
    bounded: bool = True  # False: the data may cause far more work than the cost facet counts
    traits: Collection[Trait] = ()
    value_range: tuple[float, float] | None = None
    """Bounds of the elements of a float result for any operands; an element may also be NaN."""

    reference_fn: Callable[..., Any] | None = None
    cost_fn: Callable[..., Cost] | None = None
    lower_fn: Callable[..., None] | None = None
    decompose_fn: Callable[..., Operand] | None = None
    gradient_fn: Callable[..., tuple[Operand, ...]] | None = None
    samples_fn: Callable[[], Iterator[tuple[Any, ...]]] | None = None
    increases_if_fn: Callable[..., bool] | None = None
    onnx_names: tuple[str, ...] = ()
    export_fn: ExportFacet | None = None
    schema: Schema = field(init=False)
    """The operands and attributes, as read from the signature of the type rule."""

    def __post_init__(self) -> None:
        self.schema = Schema.of(self.rule)

    @property
    def words(self) -> str:
        """The docstring, which the page shows."""
        return inspect.getdoc(self.rule) or ""

    @property
    def source(self) -> str:
        """File and line of the declaration, relative to the package."""
        code = self.rule.__code__
        return f"{code.co_filename.rpartition('compiler/')[2]}:{code.co_firstlineno}"

    # Facets, each a decorator.

    def reference(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Set the semantics: a function from numpy arrays (None if omitted) to arrays."""
        self.reference_fn = fn
        return fn

    def cost(self, fn: Callable[..., Cost]) -> Callable[..., Cost]:
        """Set the cost: a function of operand types, `out` (a type or tuple), and attributes."""
        self.cost_fn = fn
        return fn

    def lower(self, fn: Callable[..., None]) -> Callable[..., None]:
        """Set the lowering to a computation: see compute/builder.py."""
        self.lower_fn = fn
        return fn

    def decompose(self, fn: Callable[..., Operand]) -> Callable[..., Operand]:
        """Set the decomposition: a function from operands to a call of other operators."""
        self.decompose_fn = fn
        return fn

    def gradient(
        self, fn: Callable[..., tuple[Operand, ...]]
    ) -> Callable[..., tuple[Operand, ...]]:
        """Set the gradient rule.

        From the result's gradient, the result and the operands, the rule computes one gradient per
        operand (None for no gradient). The gradient of a result or operand has the same shape as
        this result or operand.
        """
        self.gradient_fn = fn
        return fn

    def increases_if(self, fn: Callable[..., bool]) -> Callable[..., bool]:
        """Set the condition of the traits `increasing` and `nearly_increasing`.

        The condition receives the other operands as numbers, and the attributes.
        """
        self.increases_if_fn = fn
        return fn

    def samples(self, fn: Callable[[], Iterator[tuple[Any, ...]]]) -> Callable[..., Any]:
        """Set the samples, pairs of operands and attributes: edge and asymmetric cases."""
        self.samples_fn = fn
        return fn

    def onnx(self, *names: str) -> Callable[[OnnxFacet], OnnxFacet]:
        """Set the import of ONNX nodes of these names: a function from an OnnxCall to a call.

        Names of operators in other domains have the form `domain:Name`. A facet that returns None
        retains the node as a foreign operator.
        """

        def register(fn: OnnxFacet) -> OnnxFacet:
            for name in names:
                assert name not in ONNX, f"two operators import {name}"
                ONNX[name] = fn
            self.onnx_names += names
            return fn

        return register

    def export(self, fn: ExportFacet) -> ExportFacet:
        """Set the export to ONNX: a function from operands to standard nodes or calls, or None."""
        self.export_fn = fn
        return fn

    def exports_as(self, op_type: str, domain: str = "") -> None:
        """Export to one standard node with attributes of the same names."""
        self.export_fn = lambda *operands, **attrs: Standard(op_type, operands, attrs, domain)

    # Applications of the operator.

    def __call__(self, *args: Operand, **attrs: Any) -> Call:
        """Describe an application of the operator."""
        return Call(self, args, attrs)

    def bind(self, attrs: Mapping[str, Any]) -> dict[str, Any]:
        """Complete attributes with default values, in the order of declaration.

        Errors: E-OP-ATTRIBUTE.
        """
        return self.schema.bind(self.name, attrs)

    def increases(self, numbers: Sequence[float], attrs: Mapping[str, Any]) -> bool:
        """Whether the operator never decreases in its first operand, except by rounding.

        `numbers` are the other operands. An operator that never decreases returns NaN only for NaN.
        """
        if not {"increasing", "nearly_increasing"}.intersection(self.traits):
            return False
        if any(map(math.isnan, numbers)):
            return False
        return self.increases_if_fn is None or self.increases_if_fn(*numbers, **attrs)

    def infer(
        self, operands: Sequence[Tensor | None], attrs: Mapping[str, Any]
    ) -> tuple[Type, ...]:
        """Infer the types of the outputs; attributes are bound, with defaults.

        Errors: those of the operator's type rule, with a note that lists the operand types.
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
        """Return the samples facet as a list."""
        assert self.samples_fn is not None, f"{self.name} has no samples"
        return [Sample(tuple(operands), attrs) for operands, attrs in self.samples_fn()]


OnnxFacet = Callable[[OnnxCall], "Operand | tuple[Operand, ...] | None"]

ExportFacet = Callable[..., "Operand | tuple[Operand, ...] | None"]


class _Operators(dict[str, Operator]):
    """Operators by name; the error for an unknown name says what to do."""

    def __missing__(self, name: str) -> Operator:
        if not self:
            raise KeyError(f"no operator {name!r}: `import compiler.ops` declares the operators")
        near = difflib.get_close_matches(str(name), self)
        hint = f"; similar names: {', '.join(near)}" if near else ""
        raise KeyError(f"no operator has the name {name!r}{hint}")


OPERATORS: dict[str, Operator] = _Operators()
"""All operators by name; `import compiler.ops` declares them."""

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
    """Declare an operator, named after the function by default."""

    def declare(fn: Callable[..., Any]) -> Operator:
        name = options.pop("name", "") or fn.__name__.rstrip("_")
        assert name not in OPERATORS, f"operator {name} is declared twice"
        options.setdefault("kind", "opaque")
        OPERATORS[name] = Operator(name, fn, **options)
        return OPERATORS[name]

    return declare(rule) if rule is not None else declare


def with_trait(trait: Trait) -> Set[str]:
    """Return the names of all operators with a trait, in the order of their declarations."""
    return dict.fromkeys(name for name, o in OPERATORS.items() if trait in o.traits).keys()
