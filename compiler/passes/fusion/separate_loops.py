"""Reasons that two nodes of different kinds need separate loops."""

from __future__ import annotations

from compiler.ir.graph import Node
from compiler.ir.operator import OPERATORS, with_trait
from compiler.passes.fusion.kinds import is_contraction, is_elementwise, is_reduction

STAGED = with_trait("staged")

_WORDS = {"movement": "data movement"}


def kind_of(n: Node) -> str:
    """Return the kind of a node's operator in words, or "" for an undeclared operator."""
    kind = OPERATORS[n.op].kind if n.op in OPERATORS else ""
    return _WORDS.get(kind, kind)


def describe(n: Node) -> str:
    """Return the kind and the operator of a node."""
    return f"{kind_of(n)} {n.op}".strip()


def why_separate_loops(node: Node, user: Node) -> str:
    """Return the reason that a node and its reader need separate loops, by kind and trait."""
    own = _own_loops(node) or _own_loops(user)
    if own:
        return own
    if is_contraction(user) and (is_elementwise(node) or is_reduction(node)):
        return (
            f"fusing {describe(node)} into {describe(user)} would recompute the operand for each "
            "tile of the product"
        )
    return why_one_anchor(node, user) or _cannot_share(node, user)


def why_separate_siblings(a: Node, b: Node) -> str:
    """Return the reason that two readers of a value need separate loops."""
    return _own_loops(a) or _own_loops(b) or _cannot_share(a, b)


def why_one_anchor(a: Node, b: Node) -> str:
    """Return the reason if both nodes are contractions or reductions, else ""."""
    if not all(is_contraction(n) or is_reduction(n) for n in (a, b)):
        return ""
    return (
        f"{a.output} is computed by {describe(a)}, {b.output} by {describe(b)}, "
        "and a kernel holds one contraction or reduction"
    )


def _own_loops(n: Node) -> str:
    """Return the reason that a node shares no loop with any node, or ""."""
    if n.op in STAGED:
        return (
            f"{n.op} reads its operand several times, and fuse extends only reductions that read "
            "it once"
        )
    match OPERATORS[n.op].kind if n.op in OPERATORS else "":
        case "view":
            return f"{n.op} {n.output} is a view, which has no loop"
        case "movement" if n.op == "concat":
            return (
                f"concat {n.output} either needs no loop, if its operands are written directly "
                "into its memory, or copies them in a loop of its own"
            )
        case "movement":
            return f"{n.op} {n.output} copies elements to other positions, in a loop of its own"
        case "reduction" if not is_reduction(n):
            return f"{n.op} is neither a pool nor a reduction along axes; fuse extends only these"
        case "scan":
            return f"{n.op} {n.output} depends on earlier elements along an axis"
        case "opaque":
            return f"{n.op} has generated code of its own, which cannot hold other nodes"
        case _:
            return ""


def _cannot_share(a: Node, b: Node) -> str:
    return f"{describe(a)} and {describe(b)} cannot share a loop"
