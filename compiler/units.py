"""Texts of quantities with SI units; the page has the same formats in `static/js/text/format.js`.

The tests of Python and JavaScript check the formats of both languages against the examples in
`tests/samples/quantities.json`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

MINUS = "\N{MINUS SIGN}"
BYTES = ("B", "kB", "MB", "GB", "TB")
OPERATIONS = ("flop", "kflop", "Mflop", "Gflop", "Tflop")


def count_text(n: int, what: str) -> str:
    """Format a count with its noun: `1 fallback`, `2 launches`."""
    return f"{n:,} {what}{'' if n == 1 else 'es' if what.endswith('ch') else 's'}"


def bytes_text(n: float) -> str:
    """Format a number of bytes in powers of 1000, with three digits: `1.25 MB`."""
    return _scaled(n, BYTES)


def flops_text(n: float) -> str:
    """Format a number of floating-point operations: `3.2 Gflop`."""
    return _scaled(n, OPERATIONS)


def rate_text(per_second: float) -> str:
    """Format a number of floating-point operations per second: `42.1 Gflop/s`."""
    return f"{_scaled(per_second, OPERATIONS)}/s"


def seconds_text(seconds: float) -> str:
    """Format a time with three digits: `1.23 ms`; "–" if it is not finite."""
    if not math.isfinite(seconds):
        return "–"
    if seconds == 0:
        return "0 s"
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (0.9995e-3, 1e6, "us"), (0.9995, 1e3, "ms")):
        if seconds < limit:
            return f"{_short(seconds * factor)} {unit}"
    return f"{_short(seconds)} s"


def number_text(n: float) -> str:
    """Format a number with commas between thousands, and at most three digits after the point."""
    rounded = Decimal(n).quantize(Decimal("0.001"), ROUND_HALF_UP)
    text = f"{rounded:,f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def percent_text(share: float) -> str:
    """Format a fraction as a percentage: `38.2 %`; "–" if it is not finite."""
    if not math.isfinite(share):
        return "–"
    percent = share * 100
    if percent in (0, 100):
        return f"{percent:.0f} %"
    return f"{Decimal(percent).quantize(Decimal('0.1'), ROUND_HALF_UP):f} %"


def ratio_text(ratio: float) -> str:
    """Format a quotient of quantities of one unit, or operations per byte, as `1.03`."""
    return _short(ratio) if math.isfinite(ratio) else "–"


def error_text(error: float | None, digits: int = 1) -> str:
    """Format a relative or absolute error: `2.1e-7`; "∞" for infinity and None."""
    if error is None or not math.isfinite(error):
        return "NaN" if error is not None and math.isnan(error) else "∞"
    if error == 0:
        return "0"
    power = Decimal(error).adjusted()
    head = Decimal(error).scaleb(-power).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    if abs(head) >= 10:
        head, power = head / 10, power + 1
    mantissa = f"{head:.{digits}f}"
    whole, _, fraction = mantissa.partition(".")
    if not fraction.strip("0"):
        mantissa = whole
    return mantissa if power == 0 else f"{mantissa}e{power}"


def _scaled(value: float, units: Sequence[str]) -> str:
    size, at = abs(value), 0
    # 0.9995 of the next unit would round up to "1,000" of this unit.
    while size >= 999.5 and at < len(units) - 1:
        size, at = size / 1000, at + 1
    text = number_text(size) if at == 0 and float(size).is_integer() else _short(size)
    return f"{MINUS if value < 0 else ''}{text} {units[at]}"


def _short(value: float, digits: int = 3) -> str:
    """Round to a number of significant digits."""
    if value == 0:
        return "0"
    exact = Decimal(value)
    unit = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return number_text(float(exact.quantize(unit, ROUND_HALF_UP)))
