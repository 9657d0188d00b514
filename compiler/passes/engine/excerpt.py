"""Excerpts: the nodes of a rewrite as a separate graph, before and after the rewrite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.operator import OPERATORS, Call
from compiler.passes.engine.pattern import Known, Named, OneOf, Product, Root
from compiler.passes.engine.ranges import DEPTH

RESULT = "result"
"""The public name of the only result of an excerpt."""


def excerpt(ed: Editor, nodes: Sequence[Node], value: str) -> Graph:
    """Build the graph that computes a value with some of an editor's nodes.

    Values that the excerpt reads but does not compute become inputs. Constants stay constants, and
    small values with known elements become constants. Values whose elements depend on open sizes do
    not become inputs: the excerpt includes the nodes that compute them. Nodes that `value` does not
    need are omitted.
    """
    makers = {o: n for n in nodes for o in n.outputs if o}
    order: dict[str, Node] = {}
    outside: dict[str, None] = {}
    _gather(ed, value, makers, order, outside)
    inputs: list[Value] = []
    constants: dict[str, Constant] = {}
    for name in outside:
        known = ed.constants.get(name)
        elements = ed.known(name) if known is None else None
        if known is not None:
            constants[name] = known
        elif elements is not None and elements.dtype != object:
            constants[name] = Constant.of(elements)
        else:
            inputs.append(Value(name, ed.type(name)))
    result = (Result(RESULT, value),)
    return Graph("excerpt", tuple(inputs), result, tuple(order.values()), constants)


def _maker_of_sizes(ed: Editor, value: str) -> Node | None:
    """Return the producer of a value whose elements are known expressions of open sizes."""
    known = ed.known(value)
    return ed.producer(value) if known is not None and known.dtype == object else None


def behind_facts(ed: Editor, pattern: Root, bound: Mapping[str, object]) -> list[Node]:
    """Return the nodes from which the facts of a pattern follow; an excerpt includes them.

    As in the analysis of facts, the search is limited to depth `ranges.DEPTH` and stops at
    contractions.
    """
    found: dict[str, Node] = {}
    frontier = [str(bound[name]) for name in _names_of_facts(pattern) if bound.get(name)]
    for _ in range(DEPTH + 1):
        makers = [n for n in map(ed.producer, frontier) if n is not None and not _is_product(n)]
        found.update((n.output, n) for n in makers)
        frontier = [i for n in makers for i in n.reads]
    return list(found.values())


def _names_of_facts(p: object) -> Iterator[str]:
    match p:
        case Known(name, _):
            yield name
        case Named(_, call):
            yield from _names_of_facts(call)
        case Call():
            yield from (name for part in p.args for name in _names_of_facts(part))
        case OneOf():
            yield from (name for part in p.alternatives for name in _names_of_facts(part))
        case Product():
            yield from (name for part in p.factors for name in _names_of_facts(part))
        case _:
            return


def _is_product(node: Node) -> bool:
    return node.op not in OPERATORS or OPERATORS[node.op].kind == "contraction"


def _gather(
    ed: Editor,
    value: str,
    makers: dict[str, Node],
    order: dict[str, Node],
    outside: dict[str, None],
) -> None:
    """Add the nodes that compute a value to `order`, and the outside values read to `outside`.

    Producers come before their readers.
    """
    node = makers.get(value) or _maker_of_sizes(ed, value)
    if node is None:
        outside[value] = None
        return
    if node.output in order:
        return
    for i in node.reads:
        _gather(ed, i, makers, order, outside)
    order[node.output] = node
