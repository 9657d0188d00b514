"""The phases of a transposed convolution: sets of result elements that use the same taps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd

from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import Dim

Ints = tuple[int, ...]

MOST_PHASES = 16
"""The maximum number of stages into which a transposed convolution is divided."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The contribution of one tap to one element along a spatial axis of the result.

    `at` is the index in the result; if all tests hold, tap `tap` of the filter reads index `source`
    of the image.
    """

    at: Expr
    source: Expr
    tap: Expr
    image_tests: tuple[tuple[Expr, Expr], ...] = ()
    filter_tests: tuple[tuple[Expr, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Phase:
    """The elements first, first + stride, ... of an axis of the result, which use the same taps.

    Tap number t of the phase is tap `tap + tap_step * t` of the filter. For element number q of the
    phase, tap number t reads element q + source - source_step * t of the image. The image has
    `size` elements along the axis.
    """

    size: Expr
    first: int
    stride: int
    n_places: Expr
    n_taps: int
    tap: int
    tap_step: int
    source: int
    source_step: int

    @property
    def before(self) -> int:
        """The number of padding elements that the phase reads before the image."""
        return max((self.n_taps - 1) * self.source_step - self.source, 0) if self.n_taps else 0

    @property
    def behind(self) -> Expr:
        """The number of padding elements that the phase reads after the image."""
        return affine.maximum(self.n_places + self.source - self.size, 0) if self.n_taps else 0

    def reached(self, q: Expr, t: Expr) -> Reached:
        """Return the contribution of tap number t of the phase to element number q of the phase."""
        source = q + self.source - t * self.source_step
        outside = affine.may_exceed(self.before, 0) or affine.may_exceed(self.behind, 0)
        tests = ((source, self.size),) if outside else ()
        at, tap = q * self.stride + self.first, t * self.tap_step + self.tap
        return Reached(at, source, tap, tests)


@dataclass(frozen=True, slots=True)
class One:
    """The case of one image element along an axis: each result element uses a different tap."""

    n_places: Expr
    begin: int
    n_taps: int = 1

    def reached(self, q: Expr, t: Expr) -> Reached:
        """Return the contribution of the image's only element to element q of the result."""
        return Reached(q, t, q + self.begin)


@dataclass(frozen=True, slots=True)
class Every:
    """All elements of an axis of the result; different elements may use different taps.

    Without dilation, only every stride-th tap contributes to an element, and the loop over taps
    visits only these taps. The first of these taps depends on the element's index. If stride and
    dilation both exceed 1, the loop visits and tests all taps.
    """

    size: Expr
    n_places: Expr
    kernel: int
    stride: int
    dilation: int
    begin: int

    @property
    def n_taps(self) -> int:
        """The number of taps that the loop visits and tests."""
        return -(-self.kernel // self.stride) if self.dilation == 1 else self.kernel

    def reached(self, q: Expr, t: Expr) -> Reached:
        """Return the contribution of tap number t to element q of the result."""
        place = q + self.begin
        if self.dilation == 1:
            source = affine.floordiv(place, self.stride) - t
            tap = t * self.stride + affine.mod(place, self.stride)
            meets: tuple[tuple[Expr, Expr], ...] = ()
        else:
            place, tap = place - t * self.dilation, t
            source = affine.floordiv(place, self.stride)
            meets = ((affine.mod(place, self.stride), 1),)
        return Reached(q, source, tap, ((source, self.size), *meets), ((tap, self.kernel),))


Part = Phase | One | Every
"""The elements along a spatial axis of the result that one stage computes."""


def _phases(
    size: Expr, n: Expr, kernel: int, stride: int, dilation: int, begin: int
) -> Iterator[Phase]:
    """Return the phases of an axis of the result.

    Through tap k, element y of the image contributes to element stride * y + dilation * k - begin.
    Let g be the greatest common divisor of stride and dilation. Then an element of the result uses
    every (stride / g)-th tap.
    """
    common = gcd(stride, dilation)
    tap_step, source_step = stride // common, dilation // common
    for first in range(stride):
        n_places = affine.floordiv(n - first + stride - 1, stride)
        meeting = (t for t in range(tap_step) if (first + begin - dilation * t) % stride == 0)
        tap = next(meeting, kernel)
        n_taps = len(range(tap, kernel, tap_step))
        source = (first + begin - dilation * tap) // stride
        if not isinstance(n_places, int) or n_places > 0:
            yield Phase(size, first, stride, n_places, n_taps, tap, tap_step, source, source_step)


def parts_of_sides(
    dims: Sequence[Dim],
    made: Sequence[Dim],
    kernel: Sequence[int],
    strides: Ints,
    dilations: Ints,
    begins: Ints,
) -> list[list[Part]]:
    """Return the parts of each spatial axis: the phases, unless the axis has too many phases."""
    sides: list[list[Part]] = []
    n_left = MOST_PHASES
    for d in reversed(range(len(strides))):
        axis = (dims[d], made[d], kernel[d], strides[d], dilations[d])
        found: list[Part] = []
        if _is_one(*axis, begins[d]):
            found.append(One(made[d], begins[d]))
        elif strides[d] <= n_left:
            found += _phases(*axis, begins[d])
        n_left //= max(len(found), 1)
        sides.insert(0, found or [Every(*axis, begins[d])])
    return sides


def _is_one(size: Dim, n: Dim, kernel: int, _stride: int, dilation: int, begin: int) -> bool:
    """Return whether the image has one element on an axis, with a tap for each result element."""
    return size == 1 and dilation == 1 and isinstance(n, int) and 0 <= begin <= kernel - n
