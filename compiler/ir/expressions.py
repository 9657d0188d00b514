"""Integer expressions over named symbols in canonical form, and their bounds.

An expression is the sum of a constant and integer multiples of atoms. In canonical form, equal sums
compare equal. An atom is a symbol, or a floor division, remainder, product, minimum or maximum of
expressions. A result without atoms is a plain `int`, so code for static shapes works on integers.
The operations on expressions are in `compiler.ir.affine`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import lru_cache

from compiler.dataclass import dataclass
from compiler.errors import CompileError


class Undecided(TypeError):
    """Raised for a comparison whose result depends on the values of open sizes."""


@dataclass(frozen=True, slots=True, eq=False)
class Apply:
    """A compound atom: `floordiv`, `mod`, `mul`, `min` or `max` of two expressions."""

    fn: str
    a: Expr
    b: Expr
    # Computed lazily and cached: expressions are often keys of dictionaries.
    _hash: int = field(init=False, repr=False)
    _text: str = field(init=False, repr=False)
    _names: tuple[str, ...] = field(init=False, repr=False)

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", hash((self.fn, self.a, self.b)))
            return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Apply) or hash(self) != hash(other):
            return False
        return self.fn == other.fn and self.a == other.a and self.b == other.b

    def __str__(self) -> str:
        try:
            return self._text
        except AttributeError:
            object.__setattr__(self, "_text", self._written())
            return self._text

    def _written(self) -> str:
        if self.fn in ("min", "max"):
            return f"{self.fn}({self.a}, {self.b})"
        infix = {"floordiv": "//", "mod": "%", "mul": "*"}[self.fn]
        return f"{_factor(self.a)}{infix}{_factor(self.b)}"

    @property
    def names(self) -> tuple[str, ...]:
        """The symbols in the expression, in order."""
        try:
            return self._names
        except AttributeError:
            inside = {n for e in (self.a, self.b) if isinstance(e, Affine) for n in e.names}
            object.__setattr__(self, "_names", tuple(sorted(inside)))
            return self._names


Atom = str | Apply


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """A canonical sum `c0 + c1*atom1 + ...` with at least one atom; build it with `symbol`."""

    terms: tuple[tuple[Atom, int], ...]
    constant: int = 0
    _hash: int = field(init=False, repr=False)
    _names: tuple[str, ...] = field(init=False, repr=False)

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", hash((self.terms, self.constant)))
            return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Affine) or self.constant != other.constant:
            return False
        return self.terms == other.terms

    @property
    def names(self) -> tuple[str, ...]:
        """The symbols in the expression, in order."""
        try:
            return self._names
        except AttributeError:
            inside = [(a,) if isinstance(a, str) else a.names for a, _ in self.terms]
            found = inside[0] if len(inside) == 1 else tuple(sorted(set().union(*inside)))
            object.__setattr__(self, "_names", found)
            return self._names

    @property
    def is_plain(self) -> bool:
        """Whether all atoms are symbols; the last atom decides, since compound atoms sort last."""
        return isinstance(self.terms[-1][0], str)

    def __add__(self, other: Expr) -> Expr:
        return _combine(self, other, 1)

    __radd__ = __add__

    def __sub__(self, other: Expr) -> Expr:
        return _combine(self, other, -1)

    def __rsub__(self, other: Expr) -> Expr:
        return sum_of([(other, 1), (self, -1)], 0)

    def __neg__(self) -> Expr:
        return self * -1

    def __mul__(self, other: Expr) -> Expr:
        if isinstance(other, Affine):
            return _product(self, other)
        factor = int(other)
        if factor == 0:
            return 0
        if factor == 1:
            return self
        return Affine(tuple((a, c * factor) for a, c in self.terms), self.constant * factor)

    __rmul__ = __mul__

    def __floordiv__(self, other: Expr) -> Expr:
        return floordiv(self, other)

    def __rfloordiv__(self, other: Expr) -> Expr:
        return floordiv(other, self)

    def __mod__(self, other: Expr) -> Expr:
        return mod(self, other)

    def __rmod__(self, other: Expr) -> Expr:
        return mod(other, self)

    def __str__(self) -> str:
        parts: list[str] = []
        for atom, c in self.terms:
            text = str(atom)
            # A leading minus binds tighter than the operators of an atom.
            bare = c == 1 or (c == -1 and parts)
            if isinstance(atom, Apply) and not bare and atom.fn not in ("min", "max"):
                text = f"({text})"
            text = text if abs(c) == 1 else f"{abs(c)}*{text}"
            parts.append(("-" if c < 0 else "+") + text)
        if self.constant:
            parts.append(f"{self.constant:+d}")
        return "".join(parts).removeprefix("+")

    def __int__(self) -> int:
        raise Undecided(f"the symbolic value {self} has no numeric value")

    __index__ = __int__

    def __lt__(self, other: Expr) -> bool:
        return _compare(other - self, 1, (self, "<", other))

    def __le__(self, other: Expr) -> bool:
        return _compare(other - self, 0, (self, "<=", other))

    def __gt__(self, other: Expr) -> bool:
        return _compare(self - other, 1, (self, ">", other))

    def __ge__(self, other: Expr) -> bool:
        return _compare(self - other, 0, (self, ">=", other))


Expr = int | Affine


def symbol(name: str) -> Affine:
    """Return the expression that is one named symbol."""
    return Affine(((name, 1),))


def _factor(e: Expr) -> str:
    simple = isinstance(e, int) and e >= 0
    if isinstance(e, Affine) and not e.constant and len(e.terms) == 1:
        atom, c = e.terms[0]
        simple = c == 1 and (isinstance(atom, str) or atom.fn in ("min", "max"))
    return str(e) if simple else f"({e})"


def of_atom(a: Atom) -> Affine:
    """Return the expression that is one atom."""
    return Affine(((a, 1),))


def _key(atom: Atom) -> tuple[int, str]:
    return (0, atom) if isinstance(atom, str) else (1, str(atom))


def _term_key(term: tuple[Atom, int]) -> tuple[int, str]:
    return _key(term[0])


def build(terms: Mapping[Atom, int], constant: int) -> Expr:
    """Return the canonical sum of a constant and these multiples of atoms."""
    kept = [t for t in terms.items() if t[1]]
    if len(kept) > 1:
        kept.sort(key=_term_key)
    return Affine(tuple(kept), constant) if kept else constant


def _combine(a: Affine, b: Expr, sign: int) -> Expr:
    if not isinstance(b, Affine):
        return Affine(a.terms, a.constant + sign * int(b)) if b else a
    terms = dict(a.terms)
    for atom, c in b.terms:
        terms[atom] = terms.get(atom, 0) + sign * c
    return build(terms, a.constant + sign * b.constant)


def sum_of(multiples: Iterable[tuple[Expr, int]], constant: int) -> Expr:
    """Return the sum of a constant and multiples of expressions; terms are sorted only once."""
    terms: dict[Atom, int] = {}
    for e, k in multiples:
        if isinstance(e, Affine):
            for atom, c in e.terms:
                terms[atom] = terms.get(atom, 0) + c * k
            constant += e.constant * k
        else:
            constant += int(e) * k
    return build(terms, constant)


PRODUCT_LIMIT = 36
"""The maximum number of terms of an expanded product of sums."""


def _product(a: Affine, b: Affine) -> Expr:
    """Expand the product of two sums, so that equal products compare equal."""
    if (len(a.terms) + 1) * (len(b.terms) + 1) > PRODUCT_LIMIT:
        first, second = sorted((a, b), key=str)
        return of_atom(Apply("mul", first, second))
    products: list[tuple[Expr, int]] = [
        (_of_two(atom, other), c * d) for atom, c in a.terms for other, d in b.terms
    ]
    products += [(Affine(a.terms), b.constant), (Affine(b.terms), a.constant)]
    return sum_of(products, a.constant * b.constant)


@lru_cache(maxsize=65536)
def _of_two(a: Atom, b: Atom) -> Expr:
    """Multiply two atoms, which may be products."""
    return monomial([*factors(a), *factors(b)])


def factors(atom: Atom) -> list[Atom]:
    """Return the factors if an atom is a product of atoms, else the atom itself."""
    if isinstance(atom, Apply) and atom.fn == "mul":
        a, b = _sole_atom(atom.a), _sole_atom(atom.b)
        if a is not None and b is not None:
            return [*factors(a), *factors(b)]
    return [atom]


def _sole_atom(e: Expr) -> Atom | None:
    if isinstance(e, Affine) and e.constant == 0 and len(e.terms) == 1 and e.terms[0][1] == 1:
        return e.terms[0][0]
    return None


def monomial(atoms: Iterable[Atom]) -> Expr:
    """Return the product of atoms in canonical order; 1 if there are none."""
    total: Affine | None = None
    for atom in sorted(atoms, key=_key):
        total = of_atom(atom) if total is None else of_atom(Apply("mul", total, of_atom(atom)))
    return 1 if total is None else total


def axis_symbol(e: Expr) -> str | None:
    """Return the symbol if an expression is a single symbol, else None."""
    atom = _sole_atom(e)
    return atom if isinstance(atom, str) else None


def _without(atoms: list[Atom], taken: list[Atom]) -> list[Atom] | None:
    """Return the atoms without those in `taken`; None if an atom of `taken` is missing."""
    left = list(atoms)
    for atom in taken:
        if atom not in left:
            return None
        left.remove(atom)
    return left


def _split_by_monomial(a: Expr, b: Affine) -> tuple[Expr, Expr]:
    """Return (whole, rest) with a = b*whole + rest, for a divisor b with a single term."""
    if b.constant or len(b.terms) != 1 or b.terms[0][1] < 1:
        return 0, a
    divisor, c = b.terms[0]
    if isinstance(a, int):
        return 0, a
    whole: list[tuple[Expr, int]] = []
    rest: dict[Atom, int] = {}
    for atom, k in a.terms:
        left = _without(factors(atom), factors(divisor)) if k % c == 0 else None
        if left is None:
            rest[atom] = k
        else:
            whole.append((monomial(left), k // c))
    return sum_of(whole, 0), build(rest, a.constant)


def floordiv(a: Expr, b: Expr) -> Expr:
    """Divide, rounding towards minus infinity; factor out multiples of a constant divisor."""
    if b == 0:
        raise CompileError("E-OP-SHAPE", f"the size {a} is divided by 0")
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if isinstance(b, int):
        if b == 1:
            return a
        assert isinstance(a, Affine), f"cannot divide {a} by {b}"
        whole, rest = split_multiples(a, b)
        if isinstance(rest, int):
            return whole + rest // b
        return whole + of_atom(Apply("floordiv", rest, b))
    if a == b:
        return 1
    whole, rest = _split_by_monomial(a, b)
    return whole if rest == 0 else whole + of_atom(Apply("floordiv", rest, b))


def mod(a: Expr, b: Expr) -> Expr:
    """Return the remainder of `floordiv`, never negative for a positive divisor."""
    if b == 0:
        raise CompileError("E-OP-SHAPE", f"the size {a} is taken modulo 0")
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    if isinstance(b, int):
        if b == 1:
            return 0
        assert isinstance(a, Affine), f"cannot take {a} modulo {b}"
        _, rest = split_multiples(a, b)
        return rest % b if isinstance(rest, int) else of_atom(Apply("mod", rest, b))
    rest = 0 if a == b else _split_by_monomial(a, b)[1]
    return rest if rest == 0 else of_atom(Apply("mod", rest, b))


def split_multiples(a: Affine, b: int) -> tuple[Expr, Expr]:
    """Return (whole, rest) with a = b*whole + rest, and all coefficients of rest in [0, b)."""
    whole: dict[Atom, int] = {}
    rest: dict[Atom, int] = {}
    for atom, c in a.terms:
        whole[atom], rest[atom] = c // b, c % b
    return build(whole, a.constant // b), build(rest, a.constant % b)


def minimum(a: Expr, b: Expr) -> Expr:
    """Return the minimum of two expressions, folded if their difference is constant."""
    return _extreme("min", a, b)


def maximum(a: Expr, b: Expr) -> Expr:
    """Return the maximum of two expressions, folded if their difference is constant."""
    return _extreme("max", a, b)


def _extreme(fn: str, a: Expr, b: Expr) -> Expr:
    difference = a - b
    if isinstance(difference, int):
        return a if (difference <= 0) == (fn == "min") else b
    first, second = sorted((a, b), key=str)
    return of_atom(Apply(fn, first, second))


Range = tuple[int, int]

SIZE_RANGE: Range = (0, (1 << 31) - 1)
"""The range of an open size."""


def may_exceed(a: Expr, b: Expr) -> bool:
    """Return whether a may exceed b for some sizes."""
    try:
        return a > b
    except Undecided:
        return True


def _through_remainders(e: Expr) -> Expr:
    """Replace multiples of quotients by remainders: `b*(a//b)` is `a - a%b`."""
    total = e
    for atom, c in e.terms if isinstance(e, Affine) else ():
        if isinstance(atom, Apply) and atom.fn == "floordiv" and isinstance(atom.b, int):
            if c % atom.b == 0:
                total = total - of_atom(atom) * c + (atom.a - mod(atom.a, atom.b)) * (c // atom.b)
    return total


def _compare(difference: Expr, least: int, question: tuple[Expr, str, Expr]) -> bool:
    """Return whether a difference is at least `least` for all sizes. Errors: Undecided."""
    low, high = bounds(_through_remainders(difference), {})
    if low >= least:
        return True
    if high < least:
        return False
    raise Undecided(f"{' '.join(map(str, question))} depends on the sizes")


def bounds(e: Expr, ranges: Mapping[str, Range]) -> Range:
    """Return the smallest and largest value (both inclusive) over the ranges of the symbols.

    The bounds may be wider than necessary if a symbol occurs twice. A symbol without a given range
    has the range `SIZE_RANGE`.
    """
    if isinstance(e, int):
        return e, e
    low = high = e.constant
    for atom, c in e.terms:
        lo, hi = (
            ranges.get(atom, SIZE_RANGE) if isinstance(atom, str) else _apply_bounds(atom, ranges)
        )
        low += c * (lo if c > 0 else hi)
        high += c * (hi if c > 0 else lo)
    return low, high


def _apply_bounds(atom: Apply, ranges: Mapping[str, Range]) -> Range:
    (alo, ahi), (blo, bhi) = bounds(atom.a, ranges), bounds(atom.b, ranges)
    if atom.fn == "min":
        return min(alo, blo), min(ahi, bhi)
    if atom.fn == "max":
        return max(alo, blo), max(ahi, bhi)
    if atom.fn == "mul":
        corners = [x * y for x in (alo, ahi) for y in (blo, bhi)]
        return min(corners), max(corners)
    if atom.fn == "mod":
        if blo == bhi > 0 and alo // blo == ahi // blo:
            return alo % blo, ahi % blo
        return 0, max(bhi - 1, 0)
    corners = [x // y for x in (alo, ahi) for y in _divisors(blo, bhi)]
    return min(corners), max(corners)


def _divisors(low: int, high: int) -> list[int]:
    """Return the nonzero divisors at the ends of a range and next to 0."""
    ends = [low, high, *((-1, 1) if low < 0 < high else (1,) if low == 0 else (-1,))]
    return [d for d in ends if d and low <= d <= high] or [1]
