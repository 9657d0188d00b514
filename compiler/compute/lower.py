"""Lowering of nodes to computations: run the `lower` facets, then substitute producers.

A fused group becomes one computation; `producers` merges its stages where possible.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from compiler.compute.builder import Lowering
from compiler.compute.codes import with_fewer_steps
from compiler.compute.computation import Computation, Routine, Stage
from compiler.compute.decompose import decomposition
from compiler.compute.producers import substitute_producers
from compiler.compute.scalar import (
    Apply,
    Fetch,
    Number,
    Read,
    Scalar,
    renamed_tensors,
    rewrite,
    walk,
)
from compiler.compute.statements import rename_buffers, rewrite_statements
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir import types as ty
from compiler.ir.affine import Expr
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.infer import KNOWN_LIMIT
from compiler.ir.operator import OPERATORS, Array, Operator
from compiler.ir.types import DType, TensorType, Type, open_symbols

SCALES_LIMIT = 1 << 14
"""The maximum number of elements of a constant that is scanned for its largest magnitude."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A computation, and the graph value of each of its tensors."""

    computation: Computation
    operands: Mapping[str, str]
    results: Mapping[str, str]
    sizes: Mapping[str, Expr] = field(default_factory=dict)
    """The expression of each size of the computation, in symbols of the graph."""


def size_name(symbol: str) -> str:
    """Return a size symbol's name in computations, where lower-case names denote loop indices."""
    return symbol if symbol[0].isupper() and not symbol.startswith("S_") else f"S_{symbol}"


def lower_node(node: Node, graph: Graph) -> Lowered | None:
    """Lower a node or fused group; None if an operator inside has no lowering.

    Shapes: ranks must be known; sizes may be symbols. Tensors get the names of the operators'
    operands, in upper case. Errors: raises Undecided if the lowering depends on open sizes.
    """
    if not all(_has_lowering(graph.types[i]) for i in node.inputs if i):
        return None
    if not all(map(_has_lowering, node.types)):
        return None
    before = [graph.types[i] for i in node.inputs if i]
    if not open_symbols([*node.types, *before]):
        return _lower(node, graph)
    names = _size_names(before, node)
    values = {atom: affine.symbol(name) for atom, name in names.items()}
    operands = {i: ty.replace_atoms(graph.types[i], values) for i in node.inputs if i}
    inputs = tuple(Value(i, t) for i, t in operands.items() if i not in graph.constants)
    constants = {i: graph.constants[i] for i in operands if i in graph.constants}
    around = Graph(graph.name, inputs, (), (), constants)
    lowered = _lower(_with_atoms(node, values), around)
    if lowered is None:
        return None
    sizes = {name: affine.Affine(((atom, 1),)) for atom, name in names.items()}
    return replace(lowered, sizes=sizes)


def _size_names(operands: Sequence[Type], node: Node) -> dict[affine.Atom, str]:
    """Name the atoms of operands' sizes, then the symbols that occur only in sizes of results.

    An atom is a symbol or an indivisible part of a size, such as a quotient. A quotient in an
    operand's size becomes a named size, and the sizes of results are expressions of this name.
    """
    names: dict[affine.Atom, str] = {}
    for atom in (a for d in _dims(operands) for a in affine.atoms(d)):
        names.setdefault(atom, size_name(atom) if isinstance(atom, str) else f"S_{len(names)}")
    values = {atom: affine.symbol(name) for atom, name in names.items()}
    own = set(names.values())
    inner = [t for g in node.regions.values() for t in g.types.values()]
    for d in _dims([*node.types, *inner]):
        for symbol in affine.symbols(affine.replace_atoms(d, values)) - own:
            names.setdefault(symbol, size_name(symbol))
    return names


def _dims(types: Iterable[Type]) -> Iterator[Expr]:
    for t in types:
        yield from (t.shape or ()) if isinstance(t, TensorType) else ()


def _with_atoms(node: Node, values: Mapping[affine.Atom, Expr]) -> Node:
    """Replace atoms by the names of sizes in all types of a node, including its regions."""
    types = tuple(ty.replace_atoms(t, values) for t in node.types)
    regions = {
        key: replace(
            g,
            inputs=tuple(Value(v.name, ty.replace_atoms(v.type, values)) for v in g.inputs),
            nodes=tuple(_with_atoms(n, values) for n in g.nodes),
        )
        for key, g in node.regions.items()
    }
    return replace(node, types=types, regions=regions)


def _lower(node: Node, graph: Graph) -> Lowered | None:
    body = node.regions["body"] if node.op == "fusion" else _as_body(node, graph)
    constants = {p.name: graph.constants.get(a) for p, a in _parameters(node, body)}
    try:
        stages = _Stages(body, {k: c for k, c in constants.items() if c is not None})
        for parameter, operand in _parameters(node, body):
            t = graph.types[operand]
            assert isinstance(t, TensorType), f"{operand} is {t}, not a tensor"
            stages.types[parameter.name] = t
        for inner in body.nodes:
            if not stages.add(inner):
                return None
    except CompileError as e:
        if e.code == "E-SHAPE-OPEN":
            return None
        raise
    outputs = [r.value for r in body.results]
    kept = substitute_producers(stages.stages, set(outputs))
    kept = [_with_numbers(s, stages) for s in kept]
    return _named(node, body, kept, stages.types, outputs, graph.constants)


def _has_lowering(t: object) -> bool:
    return isinstance(t, TensorType) and t.is_ranked and t.dtype is not DType.string


def _parameters(node: Node, body: Graph) -> Iterator[tuple[Value, str]]:
    operands = (
        node.inputs if node.op == "fusion" else tuple(dict.fromkeys(filter(None, node.inputs)))
    )
    yield from zip(body.inputs, operands, strict=True)


def _as_body(node: Node, graph: Graph) -> Graph:
    """Wrap a single node as a group."""
    inputs = tuple(Value(i, graph.types[i]) for i in dict.fromkeys(filter(None, node.inputs)))
    results = tuple(Result(o, o) for o in node.outputs if o)
    return Graph(node.op, inputs, results, (node,))


class _Stages:
    """Collects the stages of a body's nodes; tensors have the names of the body's values."""

    def __init__(self, body: Graph, operand_constants: Mapping[str, Constant]) -> None:
        self.body = body
        self.constants = {**operand_constants, **body.constants}
        self.types: dict[str, TensorType] = {
            k: t for k, t in body.types.items() if isinstance(t, TensorType)
        }
        self.numbers = {k: n for k, c in self.constants.items() if (n := _number(c)) is not None}
        self.stages: list[Stage | Routine] = []
        self.n_temporaries = 0

    def add(self, node: Node) -> bool:
        """Lower one node; False when its operator has no lowering."""
        operator = OPERATORS.get(node.op)
        if operator is None:
            return False
        if operator.lower_fn is not None:
            self._run_facet(operator, node)
            return True
        if operator.decompose_fn is None:
            return False
        inner = decomposition(node, self.types, self._known)
        self.types.update((k, t) for k, t in inner.types.items() if isinstance(t, TensorType))
        self.constants.update(inner.constants)
        self.numbers.update(
            {k: n for k, c in inner.constants.items() if (n := _number(c)) is not None}
        )
        return all(self.add(n) for n in inner.nodes)

    def _run_facet(self, operator: Operator, node: Node) -> None:
        assert operator.lower_fn is not None
        k = Lowering(node.op)
        renamed: dict[str, str] = {}
        operands = []
        for position, value in enumerate(node.inputs):
            if not value:
                operands.append(None)
                continue
            local = f"operand{position}"
            renamed[local] = value
            operands.append(k.input(local, self.types[value].logical, self._known(value)))
        if not operator.schema.variadic:
            # Facets take every operand of the signature, including omitted trailing operands.
            operands += [None] * (len(operator.schema.operands) - len(operands))
        outputs = []
        for position, (value, t) in enumerate(zip(node.outputs, node.types, strict=True)):
            assert isinstance(t, TensorType)
            local = f"result{position}"
            renamed[local] = value
            if not value:
                self.n_temporaries += 1
                renamed[local] = f"unused%{self.n_temporaries}"
                self.types[renamed[local]] = t
            outputs.append(k.output(local, t.logical))
        operator.lower_fn(k, *operands, *outputs, **node.attrs)
        for local in set(k.tensors) - set(renamed):
            self.n_temporaries += 1
            renamed[local] = f"{local}%{self.n_temporaries}"
            self.types[renamed[local]] = k.tensors[local]
        self.stages += [_rename_tensors(s, renamed) for s in k.stages]

    def largest(self, value: str) -> float:
        """Return the largest magnitude in a constant; infinite if unknown."""
        c = self.constants.get(value)
        if c is None or not c.type.dtype.is_float or c.type.n_elements > SCALES_LIMIT:
            return math.inf
        size = float(np.abs(c.array()).max(initial=0.0))
        return size if math.isfinite(size) else math.inf

    def _known(self, value: str) -> Array | None:
        c = self.constants.get(value)
        return c.array() if c is not None and c.type.n_elements <= KNOWN_LIMIT else None


def _number(c: Constant) -> Number | None:
    """Return the number that a splat constant repeats; None for other constants."""
    if c.type.dtype is DType.string or not (c.is_splat or c.type.n_elements == 1):
        return None
    return (
        Number(c.array().reshape(-1)[:1].tolist()[0], c.type.dtype) if c.type.n_elements else None
    )


def _with_numbers(stage: Stage | Routine, stages: _Stages) -> Stage | Routine:
    """Replace reads of splat constants by numbers; reads that are factors of products remain."""
    numbers = stages.numbers
    if isinstance(stage, Routine):
        return Routine(
            rewrite_statements(stage.statements, lambda e: e, lambda s: _numbered(s, numbers))
        )
    reduce = stage.reduce
    if reduce is not None and isinstance(reduce.body, Apply) and reduce.body.fn == "mul":
        factors = {p.tensor for p in walk(reduce.body) if isinstance(p, Read)}
        inside = stages.body.constants
        shared = (factors & numbers.keys()) - set(inside)
        kept = {t for t in shared if stages.types[t].n_elements > 1}
        numbers = {t: n for t, n in numbers.items() if t not in kept}

    value = _numbered(stage.value, numbers)
    return replace(stage, value=with_fewer_steps(value, stages.largest))


def _numbered(value: Scalar, numbers: Mapping[str, Number]) -> Scalar:
    def change(s: Scalar) -> Scalar | None:
        return numbers.get(s.tensor) if isinstance(s, Read | Fetch) else None

    return rewrite(value, change)


def _rename_tensors(stage: Stage | Routine, renamed: Mapping[str, str]) -> Stage | Routine:
    if isinstance(stage, Routine):
        return Routine(rename_buffers(stage.statements, renamed))
    value = renamed_tensors(stage.value, renamed)
    return replace(stage, target=renamed[stage.target], value=value)


# Names


def _named(
    node: Node,
    body: Graph,
    stages: list[Stage | Routine],
    types: Mapping[str, TensorType],
    outputs: list[str],
    known: Mapping[str, Constant],
) -> Lowered:
    """Give tensors and indices readable names, which depend only on the computation's structure."""
    read = {t for s in stages for t in s.read_tensors}
    names: dict[str, str] = {}
    for inner in body.nodes:
        labels = _operand_labels(inner)
        for value, label in zip(inner.inputs, labels, strict=True):
            if value in read and value not in names and value not in outputs:
                names[value] = _unique(label.upper(), names)
    for target in dict.fromkeys(t for s in stages for t in sorted(s.stored_tensors)):
        if target not in names:
            label = target.partition("%")[0] if "%" in target else "y"
            names[target] = _unique(re.sub(r"\W", "_", label).upper() or "T", names)
    for value in sorted(read - set(names)):
        names[value] = _unique("T", names)
    graph_names = {p.name: a for p, a in _parameters(node, body)}
    operands = {names[v]: graph_names[v] for v in graph_names if v in names and v in read}
    results = dict(zip(node.outputs, [r.value for r in body.results], strict=False))
    if node.op != "fusion":
        results = {o: o for o in node.outputs if o}
    for value in results.values():
        if value not in names:  # an empty result has no stage
            names[value] = _unique("Y", names)
    renamed = tuple(_rename_tensors(s, names) for s in stages)
    tensor_types = {
        names[v]: types[v]
        for v in (*graph_names, *(n for n in names if n not in graph_names))
        if v in names and (v in read or any(v in s.stored_tensors for s in stages))
    }
    for value, a in results.items():
        tensor_types[names[a]] = _output_type(node, value)
    constants = {n for n, value in operands.items() if value in known}
    renamed = _each_its_own(renamed, constants, tensor_types, operands)
    ordered = tuple(n for n in tensor_types if n in operands)
    computation = Computation(
        computation_name(node),
        ordered,
        tuple(names[a] for a in results.values()),
        tensor_types,
        renamed,
        node.origins,
    )
    return Lowered(computation, operands, {names[a]: v for v, a in results.items()})


def _each_its_own(
    stages: tuple[Stage | Routine, ...],
    constants: set[str],
    types: dict[str, TensorType],
    operands: dict[str, str],
) -> tuple[Stage | Routine, ...]:
    """Rename constant factors so that the sums that store to one tensor share no factor.

    With separate names, the constant factor of each sum can be packed in a separate layout.
    """
    made: list[Stage | Routine] = []
    read: set[tuple[str, str]] = set()
    for s in stages:
        reduce = s.reduce if isinstance(s, Stage) else None
        if isinstance(s, Stage) and reduce is not None:
            factors = {p.tensor for p in walk(reduce.body) if isinstance(p, Read)} & constants
            again = {t for t in factors if (s.target, t) in read}
            read.update((s.target, t) for t in factors)
            new = {t: _unique(t, {n: n for n in types}) for t in sorted(again)}
            types.update((name, types[t]) for t, name in new.items())
            operands.update((name, operands[t]) for t, name in new.items())
            s = replace(
                s, value=renamed_tensors(s.value, {t: new.get(t, t) for t in s.read_tensors})
            )
        made.append(s)
    return tuple(made)


def _output_type(node: Node, value: str) -> TensorType:
    t = node.types[node.outputs.index(value)]
    assert isinstance(t, TensorType)
    return t


def _operand_labels(node: Node) -> list[str]:
    schema = OPERATORS[node.op].schema.operands
    return [schema[min(i, len(schema) - 1)] for i in range(len(node.inputs))]


def _unique(label: str, taken: Mapping[str, str]) -> str:
    used = set(taken.values())
    name, n = label, 0
    while name in used:
        n += 1
        name = f"{label}{n}"
    return name


def computation_name(node: Node) -> str:
    """Name a kernel after the operators of a node."""
    inner = node.regions["body"].nodes if node.op == "fusion" else (node,)
    words: list[str] = []
    for n in inner:
        if not words or words[-1] != n.op:
            words.append(n.op)
    if len(words) > 4:
        words = [*words[:3], f"and_{len(words) - 3}_more"]
    return re.sub(r"\W", "_", "_".join(words))
