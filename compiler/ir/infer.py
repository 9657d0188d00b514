"""Type inference and shape propagation: runs the type rules over a graph.

A shape computation is a computation on small integer tensors whose elements are known numbers or
symbolic dimensions. Inference also evaluates shape computations, with the operators' references.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from compiler.ir import types as ty
from compiler.ir.affine import Affine, Expr, identifier, is_simple, symbol, symbols
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node, Value
from compiler.ir.operator import OPERATORS, Array, Operator, Tensor
from compiler.ir.types import DType, OpaqueType, SequenceType, TensorType, Type, logical

KNOWN_LIMIT = 256
"""The maximum number of elements of a value in evaluated shape computations."""

MAX_RANK = 64
"""The maximum number of axes of a tensor: the limit of numpy, which the references use."""

RuleForOthers = Callable[
    [Node, Sequence[Type | None], Sequence[Array | None], Mapping[str, Type]], tuple[Type, ...]
]
"""A type rule for nodes whose operator is not declared (`onnx.Name`, nodes with regions).

Arguments of the rule are types and known elements of the operands, and the types of all outer
values.
"""

_other_rules: dict[str, RuleForOthers] = {}

RegionTyping = Callable[[Node, "Facts"], Mapping[str, Graph]]
"""A function that infers the types inside a node's regions from the types of the node's
operands."""

_region_typings: dict[str, RegionTyping] = {}


def types_regions(*ops: str) -> Callable[[RegionTyping], RegionTyping]:
    """Register the type inference of the regions of these operators."""

    def register(fn: RegionTyping) -> RegionTyping:
        _region_typings.update(dict.fromkeys(ops, fn))
        return fn

    return register


def rule_for(prefix: str) -> Callable[[RuleForOthers], RuleForOthers]:
    """Register the type rule of all operators whose names start with this prefix."""

    def register(rule: RuleForOthers) -> RuleForOthers:
        _other_rules[prefix] = rule
        return rule

    return register


def node_types(
    node: Node,
    types: Sequence[Type | None],
    known: Sequence[Array | None],
    outer: Mapping[str, Type],
) -> tuple[Type, ...]:
    """Apply the type rule to a node.

    `outer` maps values of the enclosing graphs, which the node's regions may capture, to types.
    Errors: those of the operator's type rule, located at this node.
    """
    where = Where(node=node.name)
    operator = OPERATORS.get(node.op)
    try:
        if operator is not None:
            inferred = operator.infer(_tensors(node, types, known), node.attrs)
            return bounded(node.outputs, inferred)
        for prefix, rule in _other_rules.items():
            if node.op.startswith(prefix):
                return bounded(node.outputs, rule(node, types, known, outer))
    except CompileError as e:
        raise e.at(where) from None
    raise CompileError("E-TEXT-OPERATOR", f"there is no operator {node.op!r}", where=where)


def bounded(outputs: Sequence[str], types: Sequence[Type]) -> tuple[Type, ...]:
    """Replace sizes beyond the limits of `is_simple` by new symbols named after outputs.

    Errors: E-OP-SHAPE for a number that is not a valid size of an axis.
    """
    return tuple(_bounded(outputs[k] if k < len(outputs) else "", t) for k, t in enumerate(types))


def _bounded(output: str, t: Type) -> Type:
    if not isinstance(t, TensorType) or t.shape is None:
        return t
    if len(t.shape) > MAX_RANK:
        raise CompileError("E-OP-SHAPE", f"{output!r} would have more than {MAX_RANK} axes")
    if any(isinstance(d, int) and d < 0 for d in t.shape):
        raise CompileError("E-OP-SHAPE", f"{output!r} would have an axis of negative size: {t}")
    if all(map(is_simple, t.shape)):
        return t
    if any(isinstance(d, int) and not is_simple(d) for d in t.shape):
        raise CompileError(
            "E-OP-SHAPE", f"an axis of {output!r} would have more than 2**62 elements"
        )
    word = identifier(output)
    shape = (d if is_simple(d) else symbol(f"{word}_d{i}") for i, d in enumerate(t.shape))
    return replace(t, shape=tuple(shape))


def _tensors(
    node: Node, types: Sequence[Type | None], known: Sequence[Array | None]
) -> list[Tensor | None]:
    tensors: list[Tensor | None] = []
    for name, t, value in zip(node.inputs, types, known, strict=True):
        if t is None:
            tensors.append(None)
        elif isinstance(t, TensorType):
            tensors.append(Tensor(name, t.logical, value))
        else:
            raise CompileError("E-OP-OPERANDS", f"{node.op} needs tensors, got {t} for {name!r}")
    return tensors


@dataclass
class Facts:
    """Types and known elements of the values visited so far; inner scopes extend outer scopes."""

    types: dict[str, Type]
    known: dict[str, Array]
    may_not_run: bool = False
    """Whether these are the facts of a region, whose nodes may never run."""

    @staticmethod
    def of_graph(graph: Graph, outer: Facts | None = None) -> Facts:
        """Return the facts before any node is visited: those of inputs and small constants."""
        facts = Facts(dict(outer.types), dict(outer.known), True) if outer else Facts({}, {})
        for v in graph.inputs:
            facts.types[v.name] = v.type
            facts.known.pop(v.name, None)
        for name, c in graph.constants.items():
            facts.constant(name, c)
        return facts

    def constant(self, name: str, c: Constant) -> None:
        """Record a constant, and its elements if they are few."""
        self.types[name] = c.type
        if c.type.n_elements <= KNOWN_LIMIT and c.type.dtype is not DType.string:
            self.known[name] = c.array()

    def operands(self, node: Node) -> tuple[list[Type | None], list[Array | None]]:
        """Return types and known elements of a node's operands. Errors: E-GRAPH-NAME."""
        operand_types: list[Type | None] = []
        for i in node.inputs:
            if i and i not in self.types:
                raise CompileError(
                    "E-GRAPH-NAME",
                    f"{i!r} is used before it is defined",
                    where=Where(node=node.name),
                )
            operand_types.append(self.types[i] if i else None)
        return operand_types, [self.known.get(i) for i in node.inputs]

    def visit(self, node: Node) -> tuple[Type, ...]:
        """Infer the types of one node and record its outputs.

        In a region, a node with illegal operands gets open types and fails only if the node runs. A
        branch that is illegal for these sizes may never run.
        Errors: see node_types.
        """
        operand_types, known = self.operands(node)
        try:
            inferred = node_types(node, operand_types, known, self.types)
        except CompileError as e:
            if not (self.may_not_run and node.op in OPERATORS and e.code in DEPENDS_ON_OPERANDS):
                raise
            inferred = tuple(map(opened, node.types))
        if len(inferred) < len(node.outputs):
            raise CompileError(
                "E-OP-OPERANDS",
                f"{node.op} has {len(inferred)} outputs, but the node has {len(node.outputs)}",
                where=Where(node=node.name),
            )
        inferred = inferred[: len(node.outputs)]
        for name, t in zip(node.outputs, inferred, strict=True):
            if name:
                self.types[name] = t
        self.evaluate(node, operand_types, known, inferred)
        return inferred

    def follow(self, node: Node) -> None:
        """Record the known elements of a node's outputs; infer types only if they are open."""
        operator = OPERATORS.get(node.op)
        if node.op != "size" and (operator is None or not operator.shape_math):
            return
        if all(isinstance(t, TensorType) and t.is_static for t in node.types):
            operand_types, known = self.operands(node)
            self.evaluate(node, operand_types, known, node.types)
        else:
            self.visit(node)

    def record(self, node: Node) -> None:
        """Record the types that a node already has, and known elements of its outputs."""
        self.types.update((o, t) for o, t in zip(node.outputs, node.types, strict=True) if o)
        if all(i in self.types for i in node.reads):
            self.follow(node)

    def evaluate(
        self,
        node: Node,
        types: Sequence[Type | None],
        known: Sequence[Array | None],
        inferred: Sequence[Type],
    ) -> None:
        """Evaluate a node of a shape computation; the types of its outputs are known."""
        operator = OPERATORS.get(node.op)
        if node.op == "size" and isinstance(t := types[0], TensorType) and t.shape is not None:
            if is_simple(t.size):
                self.known[node.outputs[0]] = dims_array([t.size]).reshape(())
            return
        if operator is None or not operator.shape_math or operator.reference_fn is None:
            return
        if node.op == "shape":
            t = types[0]
            if isinstance(t, TensorType) and t.shape is not None:
                dims = t.shape[node.attrs["start"] : node.attrs["end"]]
                self.known[node.outputs[0]] = dims_array(dims)
            return
        if any(i and k is None for i, k in zip(node.inputs, known, strict=True)):
            return
        if not all(_is_followed(t) for t in inferred):
            return
        result = evaluate_known(operator, known, node.attrs)
        for name, value, t in zip(node.outputs, result, inferred, strict=False):
            settled = _settle(value, t.dtype) if isinstance(t, TensorType) else None
            if name and settled is not None:
                self.known[name] = settled


DEPENDS_ON_OPERANDS = {"E-OP-SHAPE", "E-OP-AXIS", "E-OP-ATTRIBUTE", "E-SHAPE-OPEN"}
"""Error codes of type rules for operands of illegal sizes or elements."""


def opened(t: Type) -> Type:
    """Return a type without its sizes, because they are unreliable."""
    return TensorType(t.dtype, None) if isinstance(t, TensorType) else t


def _is_followed(t: Type) -> bool:
    """Return whether values of this type are so small that inference evaluates their elements."""
    if not isinstance(t, TensorType) or not t.is_static:
        return False
    return t.n_elements <= KNOWN_LIMIT and t.dtype is not DType.string


def dims_array(dims: Sequence[Expr]) -> Array:
    """Convert dimensions to a 1-d array: of int64 if all are numbers, else of objects."""
    if all(isinstance(d, int) for d in dims):
        return np.array([int(d) for d in dims], np.int64)
    array = np.empty(len(dims), np.object_)
    array[:] = list(dims)
    return array


def evaluate_known(
    operator: Operator, operands: Sequence[Array | None], attrs: Mapping[str, Any]
) -> tuple[Array, ...]:
    """Evaluate the operator's reference on known elements; return an empty tuple if it fails.

    A failure such as an index out of range is not an error of the model: the node may never run.
    """
    assert operator.reference_fn is not None
    symbolic = any(o is not None and o.dtype == np.object_ for o in operands)
    try:
        with np.errstate(all="ignore"):
            result = operator.reference_fn(*operands, **attrs)
    except (CompileError, ArithmeticError, LookupError, ValueError, Warning):
        return ()
    except Exception:  # a reference may raise any error for symbols
        if symbolic:
            return ()
        raise
    results = result if isinstance(result, tuple) else (result,)
    return tuple(np.asarray(r) for r in results)


def _settle(value: Array, dtype: DType) -> Array | None:
    """Convert an object array of numbers to integers; return None if an expression is too large."""
    if value.dtype != np.object_:
        return value
    if not all(is_simple(v) for v in value.flat if isinstance(v, Affine | int)):
        return None
    if any(isinstance(v, Affine) for v in value.flat):
        return value
    return value.astype(dtype.numpy)


def infer(
    graph: Graph, outer: Facts | None = None, known: Mapping[str, Array] | None = None
) -> tuple[Graph, Facts]:
    """Infer every type of a graph and retain layouts; return the graph and the facts.

    `known` maps inputs to their elements. Errors: those of the type rules, located at the node.
    """
    facts = Facts.of_graph(graph, outer)
    facts.known.update(known or {})
    nodes = []
    for before in graph.nodes:
        node = typed_regions(before, facts)
        inferred = tuple(
            keep_layout(stated(t, old), old)
            for t, old in zip(_types_of_typed(node, facts), node.types, strict=True)
        )
        facts.types.update((o, t) for o, t in zip(node.outputs, inferred, strict=True) if o)
        nodes.append(node if inferred == node.types else replace(node, types=inferred))
    return replace(graph, nodes=tuple(nodes)), facts


def _types_of_typed(node: Node, facts: Facts) -> tuple[Type, ...]:
    """Return the types of a node that has regions with inferred types, such as a fusion."""
    body = node.regions.get("body") if node.op == "fusion" else None
    if body is None or len(body.results) != len(node.outputs):
        return facts.visit(node)
    return tuple(logical(body.types[r.value]) for r in body.results)


def typed_regions(node: Node, facts: Facts) -> Node:
    """Infer the types inside a node's regions from the types of the node's operands."""
    if not node.regions:
        return node
    if node.op == "fusion":
        return replace(node, regions={"body": _typed_fusion(node, facts)})
    typing = _region_typings.get(node.op)
    if typing is None:
        return replace(node, regions={k: infer(g, facts)[0] for k, g in node.regions.items()})
    return replace(node, regions=typing(node, facts))


def _typed_fusion(node: Node, facts: Facts) -> Graph:
    """Infer the types in the body of a fusion, which captures nothing."""
    body = node.regions["body"]
    outside = dict(zip(node.inputs, body.inputs, strict=True))
    inputs = tuple(Value(v.name, facts.types[i]) for i, v in outside.items())
    known = {v.name: facts.known[i] for i, v in outside.items() if i in facts.known}
    nothing = Facts({}, {}) if facts.may_not_run else None
    return infer(replace(body, inputs=inputs), nothing, known)[0]


def stated(inferred: Type, recorded: Type) -> Type:
    """Complete an inferred type by a recorded type, which may contain declared facts."""
    if isinstance(inferred, OpaqueType):
        return recorded
    if isinstance(inferred, SequenceType) and isinstance(recorded, SequenceType):
        return SequenceType(stated(inferred.element, recorded.element))
    if not (isinstance(inferred, TensorType) and isinstance(recorded, TensorType)):
        return inferred
    if inferred.is_static or inferred.dtype is not recorded.dtype or recorded.shape is None:
        return inferred
    if inferred.shape is None:
        return replace(inferred, shape=recorded.shape)
    if len(inferred.shape) != len(recorded.shape):
        return inferred
    sizes = zip(inferred.shape, recorded.shape, strict=True)
    return replace(
        inferred,
        shape=tuple(i if isinstance(i, int) or not isinstance(r, int) else r for i, r in sizes),
    )


def keep_layout(inferred: Type, recorded: Type) -> Type:
    """Apply the recorded layout to an inferred type: type rules infer only shapes."""
    if isinstance(inferred, TensorType) and isinstance(recorded, TensorType):
        return inferred.with_layout(recorded.layout)
    return inferred


def specialize(graph: Graph, shapes: Mapping[str, Sequence[int]]) -> Graph:
    """Specialise a graph to input shapes, and infer all its types anew.

    Symbols with a size in the shapes are replaced everywhere. If the shapes give one symbol two
    different sizes, all sizes that mention the symbol become open.
    Errors: E-INPUT-NAME for an unknown input, E-INPUT-SHAPE for a wrong rank or fixed size.
    """
    given = {v.name: v for v in graph.inputs}
    values: dict[str, Expr] = {}
    for name, shape in shapes.items():
        if name not in given:
            raise CompileError(
                "E-INPUT-NAME", f"no input is named {name!r}; inputs: {', '.join(given)}"
            )
        _unify(name, given[name].type, shape, values)
    apart = {name for name, size in values.items() if size is _APART}
    values = {name: size for name, size in values.items() if name not in apart}
    inputs = []
    for v in graph.inputs:
        t = ty.substitute(v.type, values)
        if v.name in shapes and isinstance(t, TensorType):
            t = replace(t, shape=tuple(int(d) for d in shapes[v.name]))
        inputs.append(Value(v.name, t))
    nodes = tuple(with_sizes(n, values, apart) for n in graph.nodes)
    return infer(replace(graph, inputs=tuple(inputs), nodes=nodes))[0]


_APART = symbol("apart")
"""A marker for a symbol to which the shapes give several different sizes."""


def fix_sizes(graph: Graph, values: Mapping[str, int]) -> Graph:
    """Substitute numbers for some symbols of a graph, and infer all its types anew."""
    inputs = tuple(Value(v.name, ty.substitute(v.type, values)) for v in graph.inputs)
    nodes = tuple(with_sizes(n, values) for n in graph.nodes)
    return infer(replace(graph, inputs=inputs, nodes=nodes))[0]


def with_sizes(
    node: Node, values: Mapping[str, Expr], apart: AbstractSet[str] = frozenset()
) -> Node:
    """Substitute values for symbols in the recorded types of a node, before inference.

    Sizes that mention a symbol in `apart` become open sizes of their own.
    """

    def settled(name: str, t: Type) -> Type:
        t = ty.substitute(t, values)
        if not isinstance(t, TensorType) or not any(symbols(d) & apart for d in t.shape or ()):
            return t
        own = (symbol(f"{identifier(name)}_a{i}") for i in count())
        shape = tuple(new if symbols(d) & apart else d for d, new in zip(t.dims, own, strict=False))
        return replace(t, shape=shape)

    node = replace(node, types=tuple(map(settled, node.outputs, node.types)))
    if not node.regions:
        return node
    regions = {}
    for key, g in node.regions.items():
        inputs = tuple(Value(v.name, settled(v.name, v.type)) for v in g.inputs)
        nodes = tuple(with_sizes(n, values, apart) for n in g.nodes)
        regions[key] = replace(g, inputs=inputs, nodes=nodes)
    return replace(node, regions=regions)


def _unify(name: str, t: Type, shape: Sequence[int], values: dict[str, Expr]) -> None:
    if not isinstance(t, TensorType):
        raise CompileError("E-INPUT-SHAPE", f"{name!r} is {t}, which has no shape")
    if t.shape is None:
        return
    mismatch = CompileError("E-INPUT-SHAPE", f"{name!r} is {t}, but got shape {list(shape)}")
    if len(shape) != len(t.shape):
        raise mismatch
    for dim, size in zip(t.shape, shape, strict=True):
        size = int(size)
        if size < 0:
            raise mismatch
        if isinstance(dim, int):
            if dim != size:
                raise mismatch
        elif len(dim.terms) == 1 and dim.constant == 0 and dim.terms[0][1] == 1:
            atom = dim.terms[0][0]
            if isinstance(atom, str) and values.setdefault(atom, size) != size:
                values[atom] = _APART


def is_open(t: Type) -> bool:
    """Return whether a type is not fully known before the program runs."""
    return not isinstance(t, TensorType) or not t.is_static


__all__ = [
    "Facts",
    "OpaqueType",
    "evaluate_known",
    "infer",
    "is_open",
    "node_types",
    "rule_for",
    "specialize",
    "typed_regions",
    "types_regions",
]
