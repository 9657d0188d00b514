"""Type inference of control flow: the results of regions, and the states of loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.dataclass import dataclass
from compiler.errors import CompileError, require
from compiler.ir import affine
from compiler.ir.affine import identifier, symbol
from compiler.ir.graph import Graph, Node, Value
from compiler.ir.infer import Facts, infer, types_regions
from compiler.ir.operator import Array
from compiler.ir.types import (
    Dim,
    DType,
    OpaqueType,
    SequenceType,
    TensorType,
    Type,
    open_symbols,
)
from compiler.ops.control_flow.control import entry, is_batched, n_scanned
from compiler.ops.control_flow.loop_form import known_steps
from compiler.ops.type_rules.implied_sizes import without_implied_sizes


def types_of(
    node: Node,
    types: Sequence[Type | None],
    known: Sequence[Array | None],
    outer: Mapping[str, Type],
) -> tuple[Type, ...]:
    """Infer the output types of a control-flow node from the types of its regions' results.

    `outer` maps captured values to types.
    Errors: E-GRAPH-TYPE if a region is missing or has the wrong number of results.
    """
    for key in REGIONS[node.op]:
        found = key in node.regions
        require(found, "E-GRAPH-TYPE", f"{node.op} needs a region named {key}")
    made = _TYPES[node.op](Operands(node, types, known, outer))
    if len(made) < len(node.outputs):
        raise CompileError(
            "E-GRAPH-TYPE",
            f"{node.op} returns {len(made)} values, but the node names {len(node.outputs)}",
        )
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Operands:
    """A control-flow node with the types of its operands and of captured outer values."""

    node: Node
    types: Sequence[Type | None]
    known: Sequence[Array | None]
    outer: Mapping[str, Type]

    def results(self, key: str) -> list[Type]:
        """Return the types of a region's results."""
        return results_of(self.node.regions[key], self.outer)


def results_of(region: Graph, outer: Mapping[str, Type]) -> list[Type]:
    """Return the types of a region's results, including returned captures."""
    own = region.types
    return [own.get(r.value) or outer.get(r.value, OpaqueType()) for r in region.results]


REGIONS = {
    "onnx.If": ("then_branch", "else_branch"),
    "onnx.Loop": ("body",),
    "onnx.Scan": ("body",),
    "onnx.SequenceMap": ("body",),
}


def _if_types(given: Operands) -> list[Type]:
    node = given.node
    then, other = given.results("then_branch"), given.results("else_branch")
    require(
        len(then) == len(other), "E-GRAPH-TYPE", "the branches return different numbers of values"
    )
    return [_join(a, b, _base(node, k)) for k, (a, b) in enumerate(zip(then, other, strict=True))]


def _loop_types(given: Operands) -> list[Type]:
    node, types = given.node, given.types
    body = node.regions["body"]
    message = "a loop needs a trip count and a condition; _ stands for an omitted one"
    require(len(types) >= 2, "E-GRAPH-TYPE", message)
    states = list(types[2:])
    made = given.results("body")[1:]
    enough = len(body.inputs) == len(states) + 2 and len(made) >= len(states)
    require(enough, "E-GRAPH-TYPE", f"the body needs inputs and results for {len(states)} states")
    outside = open_symbols(t for t in types if t is not None)
    n_steps = known_steps(node, given.known)
    result: list[Type] = []
    for k, t in enumerate(made):
        base = _base(node, k)
        if k < len(states):
            result.append(_closed(_join(states[k] or t, t, base), outside, base))
        else:
            length = symbol(f"{base}_d0") if n_steps is None else n_steps
            result.append(_stacked(t, length, 0, outside, base))
    return result


def _scan_types(given: Operands) -> list[Type]:
    node, types = given.node, given.types
    made = given.results("body")
    old = is_batched(node)
    operands = list(types[1:] if old else types)
    n_states = len(operands) - n_scanned(node)
    fits = 0 <= n_states <= len(made) and len(node.regions["body"].inputs) == len(operands)
    require(fits, "E-GRAPH-TYPE", "the inputs or results of the body do not match the operands")
    _check_axes(node, "scan_input_axes", operands[n_states:])
    _check_axes(node, "scan_output_axes", made[n_states:], 1)
    outside = open_symbols(t for t in types if t is not None)
    result: list[Type] = []
    for k, t in enumerate(made):
        base = _base(node, k)
        if old:
            result.append(_batched(t, k < n_states, operands[n_states:], base, outside))
        elif k < n_states:
            result.append(_closed(_join(operands[k] or t, t, base), outside, base))
        else:
            axis = entry(node, "scan_output_axes", k - n_states)
            found = _scan_length(node, operands[n_states:])
            length = symbol(f"{base}_d0") if found is None else found
            result.append(_stacked(t, length, axis, outside, base))
    return result


def _check_axes(node: Node, attribute: str, types: Sequence[Type | None], more: int = 0) -> None:
    """Check axes against the ranks of types, each increased by `more`. Errors: E-OP-AXIS."""
    for k, t in enumerate(types):
        if isinstance(t, TensorType) and t.shape is not None:
            axis, rank = entry(node, attribute, k), len(t.shape) + more
            fits = -rank <= axis < rank
            require(
                fits, "E-OP-AXIS", f"{attribute} has axis {axis}, outside a tensor of rank {rank}"
            )


def _batched(
    t: Type, is_state: bool, scanned: Sequence[Type | None], base: str, outside: frozenset[str]
) -> Type:
    """Add a batch axis to the type of one step's value; for results, also add an axis of steps."""
    first = next((s for s in scanned if isinstance(s, TensorType) and s.shape is not None), None)
    if first is None or len(first.dims) < 2:
        return TensorType(t.dtype, None) if isinstance(t, TensorType) else OpaqueType()
    whole = t if is_state else _stacked(t, first.dims[1], 0, outside, base)
    return _stacked(whole, first.dims[0], 0, outside, base)


def _map_types(given: Operands) -> list[Type]:
    fits = len(given.node.regions["body"].inputs) == len(given.types)
    require(fits, "E-GRAPH-TYPE", "the inputs or results of the body do not match the operands")
    outside = open_symbols(t for t in given.types if t is not None)
    return [
        SequenceType(_closed(t, outside, _base(given.node, k)))
        for k, t in enumerate(given.results("body"))
    ]


_TYPES = {
    "onnx.If": _if_types,
    "onnx.Loop": _loop_types,
    "onnx.Scan": _scan_types,
    "onnx.SequenceMap": _map_types,
}


def _base(node: Node, position: int) -> str:
    name = node.outputs[position] if position < len(node.outputs) else ""
    return identifier(name or f"{node.output}_{position}")


def _join(a: Type, b: Type, base: str) -> Type:
    """Return the most specific type that both types refine."""
    if a == b:
        return a
    if isinstance(a, SequenceType) and isinstance(b, SequenceType):
        return SequenceType(_join(a.element, b.element, base))
    if not (isinstance(a, TensorType) and isinstance(b, TensorType) and a.dtype is b.dtype):
        return OpaqueType()
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return TensorType(a.dtype, None)
    shape = tuple(
        x if x == y else symbol(f"{base}_d{i}")
        for i, (x, y) in enumerate(zip(a.shape, b.shape, strict=True))
    )
    return TensorType(a.dtype, shape)


def _closed(t: Type, outside: frozenset[str], base: str) -> Type:
    """Replace sizes that exist only inside the region by new symbols."""
    if isinstance(t, SequenceType):
        return SequenceType(_closed(t.element, outside, base))
    if not isinstance(t, TensorType) or t.shape is None:
        return t
    shape: list[Dim] = [
        d if affine.symbols(d) <= outside else symbol(f"{base}_d{i}") for i, d in enumerate(t.shape)
    ]
    return replace(t, shape=tuple(shape))


def _stacked(t: Type, length: Dim, axis: int, outside: frozenset[str], base: str) -> Type:
    """Return the type of values stacked along a new axis."""
    if not isinstance(t, TensorType):
        return OpaqueType()
    if t.shape is None:
        return TensorType(t.dtype, None)
    at = axis if axis >= 0 else axis + len(t.shape) + 1
    shape = (*t.shape[:at], length, *t.shape[at:])
    return _closed(TensorType(t.dtype, shape), outside | affine.symbols(length), base)


def _scan_length(node: Node, scanned: Sequence[Type | None]) -> Dim | None:
    for k, t in enumerate(scanned):
        if isinstance(t, TensorType) and t.shape:
            return t.shape[entry(node, "scan_input_axes", k) % len(t.shape)]
    return None


# Types inside regions


@types_regions(*REGIONS)
@without_implied_sizes()
def typed_regions(node: Node, facts: Facts) -> dict[str, Graph]:
    """Infer the types in a node's regions from its operands.

    The type of a loop state is the initial type if every iteration preserves it. Sizes that change
    between iterations become symbols; other changes leave the type open.
    """
    types = [facts.types.get(i) if i else None for i in node.inputs]
    if node.op == "onnx.If":
        return {k: infer(g, facts)[0] for k, g in node.regions.items()}
    return {"body": _BODIES[node.op](node, types, facts)}


def _typed(body: Graph, given: Sequence[Type | None], facts: Facts) -> Graph:
    """Infer the body for inputs of these types; inputs of unknown type retain the recorded type."""
    inputs = tuple(
        v if t is None or isinstance(t, OpaqueType) else Value(v.name, t)
        for v, t in zip(body.inputs, given, strict=True)
    )
    return infer(replace(body, inputs=inputs), facts)[0]


def _settled(
    node: Node,
    facts: Facts,
    before: Sequence[Type | None],
    states: Sequence[Type | None],
    after: Sequence[Type | None],
    first: int,
) -> Graph:
    """Infer the body at a fixed point of the state types; the states' results begin at `first`."""
    body = node.regions["body"]
    # The element type of a sequence usually changes during a loop.
    states = [t if isinstance(t, TensorType) else None for t in states]
    for _ in range(2):
        made = _typed(body, [*before, *states, *after], facts)
        results = results_of(made, facts.types)[first : first + len(states)]
        joined = [
            _join(a, b, _base(node, k)) if a is not None else None
            for k, (a, b) in enumerate(zip(states, results, strict=False))
        ]
        if joined == list(states):
            return made
        states = joined
    opened = [TensorType(t.dtype, None) if isinstance(t, TensorType) else None for t in states]
    return _typed(body, [*before, *opened, *after], facts)


def _loop_body(node: Node, types: Sequence[Type | None], facts: Facts) -> Graph:
    body, states = node.regions["body"], types[2:]
    if len(body.inputs) != len(states) + 2:
        return infer(body, facts)[0]
    first = (TensorType(DType.i64, ()), TensorType(DType.bool, ()))
    return _settled(node, facts, first, states, (), 1)


def _scan_body(node: Node, types: Sequence[Type | None], facts: Facts) -> Graph:
    body, n = node.regions["body"], n_scanned(node)
    given = scan_body_inputs(node, types)
    if len(body.inputs) != len(given):
        return infer(body, facts)[0]
    return _settled(node, facts, (), given[:-n], given[-n:], 0)


def scan_body_inputs(node: Node, types: Sequence[Type | None]) -> list[Type | None]:
    """Return the initial input types of a Scan's body: states, then slices."""
    n, old = n_scanned(node), is_batched(node)
    operands = types[1:] if old else types
    if len(operands) < n:
        return []
    states = [_without_axis(t, 0) if old else t for t in operands[:-n]]
    slices = [
        _without_axis(_without_axis(t, 0) if old else t, entry(node, "scan_input_axes", k))
        for k, t in enumerate(operands[-n:])
    ]
    return [*states, *slices]


def _without_axis(t: Type | None, axis: int) -> Type | None:
    if not isinstance(t, TensorType) or t.shape is None or not -t.rank <= axis < t.rank:
        return TensorType(t.dtype, None) if isinstance(t, TensorType) else t
    at = axis % t.rank
    return TensorType(t.dtype, (*t.dims[:at], *t.dims[at + 1 :]))


def _map_body(node: Node, types: Sequence[Type | None], facts: Facts) -> Graph:
    body = node.regions["body"]
    given = [t.element if isinstance(t, SequenceType) else t for t in types]
    return _typed(body, given, facts) if len(given) == len(body.inputs) else body


_BODIES = {"onnx.Loop": _loop_body, "onnx.Scan": _scan_body, "onnx.SequenceMap": _map_body}
