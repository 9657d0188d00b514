"""The reason why a rule or a pass leaves its near miss unchanged, in words for the page."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest

from compiler.ir.editor import Editor
from compiler.ir.graph import Node
from compiler.ir.operator import Call
from compiler.ir.text import attribute
from compiler.passes.engine.declaration import Pass
from compiler.passes.engine.matching import match as matches
from compiler.passes.engine.pattern import (
    COMMUTATIVE,
    Any,
    AnyAttr,
    Const,
    Known,
    Named,
    Near,
    Number,
    OneOf,
    Pattern,
    Product,
    pattern_text,
    roots,
    uniform,
)
from compiler.passes.engine.rewrite import apply_rules
from compiler.passes.engine.rule import Rule
from compiler.passes.engine.step_kind import StepKind
from compiler.trace import Log, Step

Reason = tuple[int, str]
"""A number of matched nodes, and the first difference behind them."""


def near_miss_reason(rule: Rule) -> str:
    """Return why a rule does not rewrite its near miss: the reason of its declined step, or the
    first difference between the pattern and the graph.
    """
    graph = rule.near_miss_graph()
    apply_rules(graph, [rule], log := Log())
    if declined := _declined(log.steps, rule.name):
        return declined
    ed = Editor(graph)
    nodes = [n for n in reversed(graph.nodes) if n.op in roots(rule.pattern)]
    found = [r for n in nodes for r in _at_node(ed, rule.pattern, n, 0)]
    # Of equally deep differences, the last node has the first; it is closest to the result.
    return (
        max(found, key=lambda r: r[0])[1]
        if found
        else "two values differ that are one value in the pattern"
    )


def kind_reason(declared: Pass, kind: StepKind) -> str:
    """Return the reason that a pass records for the near miss of a kind of step, "" for none."""
    declared.run(kind.near_miss_graph(), log := Log(), **kind.options)
    return _declined(log.steps, kind.name) or _declined(log.steps)


def _declined(steps: Iterable[Step], name: str = "") -> str:
    """Return the reason of the first declined step with this name, or with any name."""
    reasons = (s.because for s in steps if s.outcome == "declined" and name in ("", s.rule))
    return next(reasons, "")


def _at_node(ed: Editor, p: Pattern, node: Node, n: int) -> Iterator[Reason]:
    """Yield differences between a pattern and a node, after `n` matched nodes."""
    match p:
        case Call():
            yield from _at_call(ed, p, node, n)
        case Named(_, call):
            yield from _at_node(ed, call, node, n)
        case OneOf():
            for alternative in p.alternatives:
                yield from _at_node(ed, alternative, node, n)
        case Product() if not any(matches(ed, p, node)):
            yield n, f"{node.outputs[0]} is no product {pattern_text(p)}"
        case _:
            pass


def _at_call(ed: Editor, p: Call, node: Node, n: int) -> Iterator[Reason]:
    value = node.outputs[0]
    if node.op != p.op.name:
        yield n, f"{value} is a result of {node.op}, not of {p.op.name}"
        return
    schema = p.op.schema.attributes
    for key, found in node.attrs.items():
        wanted = p.attrs.get(key, schema[key].default if key in schema else found)
        wanted = tuple(wanted) if isinstance(wanted, list) else wanted
        if not isinstance(wanted, AnyAttr) and wanted != found:
            yield n, f"{key} of {value} is {attribute(found)}, not {attribute(wanted)}"
            return
    orders = [node.inputs]
    if node.op in COMMUTATIVE and len(node.inputs) == 2:
        orders.append(node.inputs[::-1])
    each = [[*_at_operands(ed, p, values, n + 1)] for values in orders]
    if all(each):
        yield from chain.from_iterable(each)


def _at_operands(ed: Editor, p: Call, values: Sequence[str], n: int) -> Iterator[Reason]:
    """Yield the differences of the first operand that does not fit."""
    for wanted, value in zip_longest(p.args, values):
        reasons = [*_at_value(ed, wanted, value or "", n)]
        if reasons:
            yield from reasons
            return
        n += isinstance(wanted, Call | Named | Product)


def _at_value(ed: Editor, p: Pattern, value: str, n: int) -> Iterator[Reason]:
    """Yield differences between a pattern and a value; none if the value fits by itself."""
    node = ed.producer(value) if value else None
    match p:
        case Any(optional=True) | Const(optional=True) | Number(optional=True) if not value:
            return
        case None:
            if value:
                yield n, f"{value} is an operand that the pattern does not have"
        case _ if not value:
            yield n, f"the operand {pattern_text(p)} of the pattern is absent"
        case Any():
            return
        case Named(_, call):
            yield from _at_value(ed, call, value, n)
        case OneOf():
            each = [[*_at_value(ed, alternative, value, n)] for alternative in p.alternatives]
            if all(each):
                yield max((r for reasons in each for r in reasons), key=lambda r: r[0])
        case Known(_, fact):
            if not fact.holds(ed, value):
                yield n, f"{fact.text.format(value)} is not known"
        case Call() | Product():
            wanted = " or ".join(roots(p))
            if node is None:
                kind = "a constant" if value in ed.constants else "an input"
                yield n, f"{value} is {kind}, not a result of {wanted}"
            elif node.op not in roots(p):
                yield n, f"{value} is a result of {node.op}, not of {wanted}"
            else:
                yield from _at_node(ed, p, node, n)
        case _:
            yield from _at_constant(ed, p, value, n)


def _at_constant(ed: Editor, p: Pattern, value: str, n: int) -> Iterator[Reason]:
    c = ed.constants.get(value)
    if c is None:
        yield n, f"{value} is not a constant"
        return
    number = uniform(c)
    match p:
        case Number() if number is None:
            yield n, f"the elements of {value} differ"
        case Near() if number is None or not p.fits(number, c):
            yield n, f"{value} is not {p.value:.7g}"
        case builtins.int() | builtins.float() if number != p:
            yield n, f"the elements of {value} are not all {attribute(p)}"
        case _:
            return
