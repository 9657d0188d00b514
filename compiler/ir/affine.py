"""Operations on integer expressions: substitution, simplification by ranges, parsing.

Symbolic dimensions and loop indices are integer expressions (`compiler.ir.expressions`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from compiler.errors import CompileError
from compiler.ir.expressions import (
    PRODUCT_LIMIT,
    SIZE_RANGE,
    Affine,
    Apply,
    Atom,
    Expr,
    Range,
    Undecided,
    axis_symbol,
    bounds,
    build,
    factors,
    floordiv,
    maximum,
    may_exceed,
    minimum,
    mod,
    monomial,
    of_atom,
    split_multiples,
    sum_of,
    symbol,
)

__all__ = [
    "ASSUMED_SIZE", "ATOMS_LIMIT", "NUMBER_LIMIT", "PRODUCT_LIMIT", "SIZE_RANGE", "Affine",
    "Apply", "Atom", "Expr", "Range", "Undecided", "assumed", "assumed_size", "atoms",
    "axis_symbol", "bounds", "factors", "floordiv", "identifier", "is_simple", "last_of",
    "maximum", "may_exceed", "minimum", "mod", "parse", "product", "recombine", "replace_atoms",
    "row_major", "simplify", "substitute", "sum_of", "symbol", "symbols",
]  # fmt: skip


_MEANING: dict[str, Callable[[Expr, Expr], Expr]] = {
    "floordiv": floordiv,
    "mod": mod,
    "mul": lambda a, b: a * b,
    "min": minimum,
    "max": maximum,
}


def substitute(e: Expr, values: Mapping[str, Expr]) -> Expr:
    """Replace symbols by expressions; symbols without a value stay unchanged."""
    if isinstance(e, int) or values.keys().isdisjoint(e.names):
        return e
    return _substituted(e, tuple(values.get(n) for n in e.names))


@lru_cache(maxsize=65536)
def _substituted(e: Affine, given: tuple[Expr | None, ...]) -> Expr:
    """Substitute a value for each symbol of an expression, in order; None retains a symbol."""
    values = {n: v for n, v in zip(e.names, given, strict=True) if v is not None}

    def value(atom: Atom) -> Expr:
        if isinstance(atom, str):
            return values[atom] if atom in values else of_atom(atom)
        return _MEANING[atom.fn](substitute(atom.a, values), substitute(atom.b, values))

    return sum_of(((value(atom), c) for atom, c in e.terms), e.constant)


def replace_atoms(e: Expr, values: Mapping[Atom, Expr]) -> Expr:
    """Replace atoms at any depth; a compound atom is replaced as a unit."""
    if isinstance(e, int):
        return e

    def value(atom: Atom) -> Expr:
        if atom in values:
            return values[atom]
        if isinstance(atom, str):
            return of_atom(atom)
        return _MEANING[atom.fn](replace_atoms(atom.a, values), replace_atoms(atom.b, values))

    return sum_of(((value(atom), c) for atom, c in e.terms), e.constant)


def atoms(e: Expr) -> Iterator[Atom]:
    """Yield the atoms of a polynomial: symbols, quotients, remainders, minima and maxima."""
    for atom, _ in e.terms if isinstance(e, Affine) else ():
        yield from factors(atom)


def symbols(e: Expr) -> frozenset[str]:
    """Return the symbols in an expression."""
    return frozenset() if isinstance(e, int) else frozenset(e.names)


def coefficient(e: Expr, var: str) -> int | None:
    """Return the factor of a symbol in a sum; None if the symbol also occurs in a compound atom."""
    if isinstance(e, int):
        return 0
    factor = 0
    for atom, c in e.terms:
        if atom == var:
            factor = c
        elif not isinstance(atom, str) and var in symbols(atom.a) | symbols(atom.b):
            return None
    return factor


ATOMS_LIMIT = 100
"""The maximum number of atoms of an expression; a new symbol replaces an expression with more
atoms."""

NUMBER_LIMIT = 1 << 62
"""The maximum magnitude of the numbers in an expression of sizes."""


def is_simple(e: Expr) -> bool:
    """Return whether an expression is within the limits on atoms and on numbers."""
    pending, n_atoms = [e], 0
    while pending:
        top = pending.pop()
        if isinstance(top, int):
            if abs(top) > NUMBER_LIMIT:
                return False
            continue
        for atom, c in top.terms:
            n_atoms += 1
            if n_atoms > ATOMS_LIMIT or abs(c) > NUMBER_LIMIT:
                return False
            if isinstance(atom, Apply):
                pending += (atom.a, atom.b)
        if abs(top.constant) > NUMBER_LIMIT:
            return False
    return True


def identifier(name: str) -> str:
    """Convert any name to an identifier for expressions."""
    word = re.sub(r"[^A-Za-z0-9_]", "_", name) or "v"
    return f"_{word}" if word[0].isdigit() else word


ASSUMED_SIZE = 64
"""The value assumed for an open size by decisions at compile time."""


def assumed(e: Expr) -> int:
    """Evaluate an expression with every size equal to `ASSUMED_SIZE`."""
    return bounds(e, {s: (ASSUMED_SIZE, ASSUMED_SIZE) for s in symbols(e)})[0]


def assumed_size(d: Expr) -> int:
    """Evaluate the size of an axis, with `ASSUMED_SIZE` for open sizes and for a result below 1.

    Without the lower limit of 1, a sequence of many strided layers would reduce 64 samples to a
    negative size.
    """
    return d if isinstance(d, int) else n if (n := assumed(d)) > 0 else ASSUMED_SIZE


def last_of(extent: Expr) -> int:
    """Return the largest index along an axis of this extent, valid for any symbol values."""
    return bounds(extent, {})[1] - 1


def simplify(e: Expr, ranges: Mapping[str, Range]) -> Expr:
    """Simplify the divisions, remainders, minima and maxima that the ranges determine."""
    if isinstance(e, int) or e.is_plain:
        return e
    return _simplified(e, tuple(ranges.get(n) for n in e.names))


@lru_cache(maxsize=65536)
def _simplified(e: Affine, given: tuple[Range | None, ...]) -> Expr:
    """Simplify an expression, given the range of each symbol in order; None means `SIZE_RANGE`."""
    ranges = {n: r for n, r in zip(e.names, given, strict=True) if r is not None}
    decided = (
        (of_atom(atom) if isinstance(atom, str) else _decide(atom, ranges), c)
        for atom, c in e.terms
    )
    return recombine(sum_of(decided, e.constant))


def recombine(e: Expr) -> Expr:
    """Combine the quotient and the remainder of one division: `(a//b)*b*k + (a%b)*k` is `a*k`."""
    if isinstance(e, int) or e.is_plain:
        return e
    for atom, c in e.terms:
        if isinstance(atom, str):
            continue
        parts = factors(atom)
        for part in parts:
            if isinstance(part, Apply) and part.fn == "mod":
                others = [p for p in parts if p is not part]
                k = monomial(others) * c if others else c
                for quotient in _quotients(part.a, part.b):
                    rest = e - of_atom(atom) * c - quotient * (part.b * k)
                    n_rest = 0 if isinstance(rest, int) else len(rest.terms)
                    if n_rest < len(e.terms) - 1:
                        return recombine(rest + part.a * k)
    return e


def _quotients(a: Expr, b: Expr) -> Iterator[Expr]:
    """Yield the equivalent forms of `a // b`."""
    yield floordiv(a, b)
    if isinstance(a, Affine) and a.constant == 0 and len(a.terms) == 1:
        inner, c = a.terms[0]
        if c == 1 and isinstance(inner, Apply) and inner.fn == "floordiv":
            yield floordiv(inner.a, inner.b * b)


def _decide(atom: Apply, ranges: Mapping[str, Range]) -> Expr:
    a, b = simplify(atom.a, ranges), simplify(atom.b, ranges)
    if atom.fn in ("min", "max"):
        low, high = bounds(a - b, ranges)
        if high <= 0:
            return a if atom.fn == "min" else b
        if low >= 0:
            return b if atom.fn == "min" else a
    if atom.fn in ("floordiv", "mod") and isinstance(a, Affine) and isinstance(b, int) and b > 0:
        # Multiples of b leave the division; the remainder often lies in one interval of length b.
        whole, rest = split_multiples(a, b)
        low, high = bounds(rest, ranges)
        if low // b == high // b:
            quotient = low // b
            return whole + quotient if atom.fn == "floordiv" else rest - quotient * b
        if isinstance(rest, Affine):
            coarse = _by_coarse_part(atom.fn, rest, b, ranges)
            if coarse is not None:
                return whole + coarse if atom.fn == "floordiv" else coarse
    return _MEANING[atom.fn](a, b)


def _by_coarse_part(fn: str, a: Affine, b: int, ranges: Mapping[str, Range]) -> Expr | None:
    """Simplify (g*r + s) // (g*m) to r // m if 0 <= s < g; return None if no g applies."""
    for g in sorted({c for _, c in a.terms if 1 < c < b and b % c == 0}, reverse=True):
        coarse = build({t: c // g for t, c in a.terms if c % g == 0}, a.constant // g)
        fine = build({t: c for t, c in a.terms if c % g}, a.constant % g)
        low, high = bounds(fine, ranges)
        if low >= 0 and high < g:
            if fn == "floordiv":
                return simplify(floordiv(coarse, b // g), ranges)
            return simplify(mod(coarse, b // g), ranges) * g + fine
    return None


def product(values: Iterable[Expr]) -> Expr:
    """Return the product of expressions; 1 if there are none."""
    total: Expr = 1
    for v in values:
        total = total * v
    return total


@lru_cache(maxsize=4096)
def row_major(shape: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Return the strides of a row-major array, in elements."""
    return tuple(product(shape[d + 1 :]) for d in range(len(shape)))


def parse(text: str) -> Expr:
    """Parse the output of `str`. Errors: E-TEXT-SYNTAX."""
    try:
        return _from_ast(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, KeyError, RecursionError, MemoryError) as e:
        raise CompileError(
            "E-TEXT-SYNTAX", f"needed an integer expression, got {text[:60]!r}"
        ) from e


def _from_ast(node: ast.AST) -> Expr:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return symbol(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_from_ast(node.operand)
    if isinstance(node, ast.BinOp):
        a, b = _from_ast(node.left), _from_ast(node.right)
        return _BINARY[type(node.op)](a, b)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
        a, b = (_from_ast(x) for x in node.args)
        return {"min": minimum, "max": maximum}[node.func.id](a, b)
    raise ValueError(ast.dump(node))


_BINARY: dict[type, Callable[[Expr, Expr], Expr]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: floordiv,
    ast.Mod: mod,
}
