"""Curves on logarithmic scales, as an SVG for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 200, 24, 48
COLOURS = ("#0b6bcb", "#b5480a", "#1a7f4b", "#7a3fb0")
INK = "#6b7280"


@dataclass(frozen=True, slots=True)
class Series:
    """A curve: its name and its points."""

    name: str
    points: Sequence[tuple[float, float]]


class Scale:
    """A logarithmic scale from numbers to pixels; both ends are powers of ten."""

    def __init__(self, numbers: Sequence[float], start: float, end: float) -> None:
        self.low = math.floor(math.log10(min(numbers)))
        self.high = math.ceil(math.log10(max(numbers)))
        self.start, self.end = start, end

    def __call__(self, number: float) -> float:
        """Return the position of a number in pixels."""
        share = (math.log10(number) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def decades(self) -> list[float]:
        """Return the powers of ten within the scale."""
        return [10.0**k for k in range(self.low, self.high + 1)]


def log_log_svg(curves: Sequence[Series], across: str, up: str, slope: float) -> str:
    """Draw curves, and a dashed line with the given slope through the first curve's first point."""
    x = Scale([p[0] for c in curves for p in c.points], LEFT, WIDTH - RIGHT)
    y = Scale([p[1] for c in curves for p in c.points], HEIGHT - BOTTOM, TOP)
    parts = [*_axes(x, y, across, up), *_guide(curves[0], x, y, slope)]
    for i, curve in enumerate(curves):
        parts += _curve(curve, COLOURS[i % len(COLOURS)], x, y)
    inside = "\n  ".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="system-ui, sans-serif" font-size="12">\n  {inside}\n</svg>\n'
    )


def _axes(x: Scale, y: Scale, across: str, up: str) -> Iterator[str]:
    for number in x.decades():
        yield _line(x(number), TOP, x(number), HEIGHT - BOTTOM, 'stroke-opacity="0.3"')
        yield _text(x(number), HEIGHT - BOTTOM + 18, f"{number:,.0f}", "middle")
    for number in y.decades():
        yield _line(LEFT, y(number), WIDTH - RIGHT, y(number), 'stroke-opacity="0.3"')
        yield _text(LEFT - 8, y(number) + 4, f"{number:g}", "end")
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, across, "middle")
    yield _text(LEFT - 8, TOP - 8, up, "end")


def _guide(curve: Series, x: Scale, y: Scale, slope: float) -> Iterator[str]:
    (x0, y0), (x1, _) = curve.points[0], curve.points[-1]
    y1 = min(y0 * (x1 / x0) ** slope, 10.0**y.high)
    yield _line(x(x0), y(y0), x(x1), y(y1), 'stroke-dasharray="5 4"')
    yield _text(x(x1) + 8, y(y1) - 6, f"n^{slope:g}", "start")


def _curve(curve: Series, colour: str, x: Scale, y: Scale) -> Iterator[str]:
    places = [(x(a), y(b)) for a, b in curve.points]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for a, b in places:
        yield f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>'
    a, b = places[-1]
    yield _text(a + 8, b + 4, curve.name, "start", colour)


def _line(x0: float, y0: float, x1: float, y1: float, more: str) -> str:
    return f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="{INK}" {more}/>'


def _text(x: float, y: float, words: str, anchor: str, colour: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'
