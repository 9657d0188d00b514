"""Equations for saturation: written here, or derived from the declared rules.

An equation is written `(add a (add b c)) = (add (add a b) c)`. The letters `f` and `g` match any
elementwise operator; `p` and `q` match any attributes. An equation applies if its two sides have
the same type and its conditions hold: `same a b` (one type), `rank2 a`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Literal

from compiler.dataclass import dataclass
from compiler.ir.operator import Call, Tensor
from compiler.passes.engine.pattern import Any as AnyValue
from compiler.passes.engine.pattern import placeholders
from compiler.passes.engine.rule import RULES, Because, Rule
from compiler.passes.equality_saturation.terms import MAX_OPERANDS, call, is_pointwise

Kind = Literal["exact", "ring", "real"]
"""`exact`: bit-identical results. `ring`: exact on integers, but changes rounding on floats.
`real`: applies only to floats, and changes rounding.
"""


@dataclass(frozen=True, slots=True)
class Equation:
    """An equation of two sides; with `both=False` only matches of the left side are rewritten."""

    name: str
    left: str
    right: str
    kind: Kind = "exact"
    when: tuple[str, ...] = ()
    both: bool = True


AXIOMS = (
    Equation("add_commutes", "(add a b)", "(add b a)", both=False),
    Equation("mul_commutes", "(mul a b)", "(mul b a)", both=False),
    Equation("max_commutes", "(max a b)", "(max b a)", both=False),
    Equation("min_commutes", "(min a b)", "(min b a)", both=False),
    Equation("add_associates", "(add a (add b c))", "(add (add a b) c)", "ring"),
    Equation("mul_associates", "(mul a (mul b c))", "(mul (mul a b) c)", "ring"),
    Equation("max_associates", "(max a (max b c))", "(max (max a b) c)"),
    Equation("min_associates", "(min a (min b c))", "(min (min a b) c)"),
    Equation("mul_distributes", "(mul a (add b c))", "(add (mul a b) (mul a c))", "ring"),
    Equation("mul_distributes_over_sub", "(mul a (sub b c))", "(sub (mul a b) (mul a c))", "ring"),
    Equation("sub_then_add", "(add (sub a b) c)", "(sub (add a c) b)", "ring"),
    Equation("sub_twice", "(sub (sub a b) c)", "(sub a (add b c))", "ring"),
    Equation("div_distributes", "(div (add a b) c)", "(add (div a c) (div b c))", "real"),
    Equation("div_of_product", "(div (mul a b) c)", "(mul a (div b c))", "real"),
    Equation(
        "matmul_associates",
        "(matmul a (matmul b c))",
        "(matmul (matmul a b) c)",
        "ring",
        ("rank2 a", "rank2 b", "rank2 c"),
    ),
    Equation(
        "matmul_distributes_right",
        "(matmul a (add b c))",
        "(add (matmul a b) (matmul a c))",
        "ring",
        ("same b c",),
    ),
    Equation(
        "matmul_distributes_left",
        "(matmul (add a b) c)",
        "(add (matmul a c) (matmul b c))",
        "ring",
        ("same a b",),
    ),
    Equation(
        "transpose_of_product",
        "(transpose[perm=[1,0]] (matmul a b))",
        "(matmul (transpose[perm=[1,0]] b) (transpose[perm=[1,0]] a))",
        "ring",
        ("rank2 a", "rank2 b"),
    ),
    Equation(
        "columns_of_product",
        "(concat[axis=1] (matmul a b) (matmul a c))",
        "(matmul a (concat[axis=1] b c))",
        "ring",
        ("rank2 a", "rank2 b", "rank2 c"),
    ),
    Equation(
        "rows_of_product",
        "(concat[axis=0] (matmul a c) (matmul b c))",
        "(matmul (concat[axis=0] a b) c)",
        "ring",
        ("rank2 a", "rank2 b", "rank2 c"),
    ),
    Equation(
        "sum_of_products",
        "(add (matmul a b) (matmul c d))",
        "(matmul (concat[axis=1] a c) (concat[axis=0] b d))",
        "ring",
        ("rank2 a", "rank2 b", "rank2 c", "rank2 d"),
    ),
    Equation("transpose_unary", "(transpose[p] (f a))", "(f (transpose[p] a))"),
    Equation(
        "transpose_binary",
        "(transpose[p] (f a b))",
        "(f (transpose[p] a) (transpose[p] b))",
        when=("same a b",),
    ),
    Equation("concat_unary", "(concat[p] (f a) (f b))", "(f (concat[p] a b))"),
    Equation(
        "concat_binary",
        "(concat[p] (f a b) (f c d))",
        "(f (concat[p] a c) (concat[p] b d))",
        when=("same a b", "same c d"),
    ),
    Equation("reshape_unary", "(reshape[p] (f a))", "(f (reshape[p] a))"),
    Equation("reshape_twice", "(reshape[p] (reshape[q] a))", "(reshape[p] a)", both=False),
    Equation("reshape_to_itself", "(reshape[p] a)", "a", both=False),
    Equation("sub_is_add_of_neg", "(sub a b)", "(add a (neg b))"),
    Equation("neg_of_product", "(neg (mul a b))", "(mul (neg a) b)"),
)


@cache
def derived() -> tuple[Equation, ...]:
    """Return the declared rules that are equations of calls, values and uniform numbers.

    The replacement side is the result of the rule's Python body for symbolic operands.
    """
    return tuple(_derived())


def _derived() -> Iterator[Equation]:
    for rule in RULES.values():
        if rule.single_use or rule.result or not _is_plain(rule.pattern):
            continue
        right = _applied(rule)
        if right is not None:
            kind: Kind = "exact" if rule.exact else "real"
            yield Equation(rule.name, _text(rule.pattern), right, kind, both=False)


class _Symbol(Tensor):
    """A symbolic operand without a type; rules that read a type cannot become equations."""

    __slots__ = ()

    def __getattribute__(self, key: str) -> Any:
        if key in ("type", "value", "dims", "rank", "known", "shape", "dtype"):
            raise _NeedsPython(key)
        return super().__getattribute__(key)


class _NeedsPython(Exception):
    pass


def _is_plain(pattern: object) -> bool:
    """Whether a pattern has only elementwise operators, values and literal numbers."""
    match pattern:
        case Call(op, args, attrs):
            fits = is_pointwise(op.name) and not attrs and 0 < len(args) <= MAX_OPERANDS
            return fits and all(map(_is_plain, args))
        case AnyValue(_, optional):
            return not optional
        case bool():
            return False
        case _:
            return isinstance(pattern, int | float)


def _applied(rule: Rule) -> str | None:
    symbols = {n: _Symbol(n, None) for n in placeholders(rule.pattern)}  # type: ignore[arg-type]
    try:
        result = rule.body(**symbols)
        if isinstance(result, Because):
            result = result.value
        return _text(result) if _is_built(result) else None
    except (_NeedsPython, AttributeError, TypeError):
        return None


def _is_built(result: object) -> bool:
    match result:
        case _Symbol():
            return True
        case Call(op, args, attrs):
            return is_pointwise(op.name) and not attrs and all(map(_is_built, args))
        case _:
            return False


def _text(part: object) -> str:
    match part:
        case Call(op, args):
            return f"({op.name} {' '.join(map(_text, args))})"
        case Tensor(name) | AnyValue(name):
            return name
        case _:
            return f"#{float(part)}"  # type: ignore[arg-type]


# Equations as egglog rules


def rules_of(equations: Iterable[Equation], inexact: bool) -> Iterator[str]:
    """Return the equations as egglog rules; inexact equations apply only to integers."""
    for e in equations:
        if e.kind == "real" and not inexact:
            continue
        yield _rule(e.name, e, e.left, e.right, inexact)
        if e.both:
            yield _rule(f"{e.name}_back", e, e.right, e.left, inexact)


def _rule(name: str, e: Equation, left: str, right: str, inexact: bool) -> str:
    facts: list[str] = []
    matched = _term(read(left), facts)
    built = _term(read(right), [])
    conditions = [_condition(c) for c in e.when]
    if e.kind == "ring" and not inexact:
        conditions.append("(whole (ty r))")
    if e.kind == "real":
        conditions.append("(real (ty r))")
    body = " ".join([f"(= r {matched})", *dict.fromkeys(facts), *conditions])
    return f'(rule ({body}) ((cand r {built})) :ruleset rules :name "{name}")'


def _condition(text: str) -> str:
    word, *names = text.split()
    if word == "same":
        return f"(= (ty {names[0]}) (ty {names[1]}))"
    return f"(rank2 (ty {names[0]}))"


Tree = str | list[Any]


def read(text: str) -> Tree:
    """Parse a term into nested lists."""
    stack: list[list[Any]] = [[]]
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            stack.append([])
        elif word == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(word)
    return stack[0][0]


def _term(tree: Tree, facts: list[str]) -> str:
    """Return a term in egglog's syntax; append constraints on its variables to `facts`."""
    if isinstance(tree, str):
        if tree.startswith("#"):
            name = f"n{len(facts)}"
            facts.append(f"(uniform {name} {tree[1:]})")
            return name
        return tree
    head, *rest = tree
    name, _, attrs = head.partition("[")
    operands = [_term(t, facts) for t in rest]
    attrs = attrs[:-1]
    if name in ("f", "g"):
        facts.append(f"(pointwise {name})")
        return f'(N{len(operands)} {name} "" {" ".join(operands)})'
    if attrs in ("p", "q"):
        return f'(N{len(operands)} "{name}" {attrs} {" ".join(operands)})'
    return call(name, attrs, operands)
