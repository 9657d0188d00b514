"""Latency, active compilations and memory over the time of a run, as an SVG for light and dark
pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.load.tally import PAGE_KINDS, percentile
from benchmarks.load.verdict import COMPILE_LIMIT_S, PAGE_LIMIT_S, Run
from benchmarks.plot import COLOURS, INK

_WIDTH, _PANEL, _GAP, _TOP, _LEFT, _RIGHT, _BOTTOM = 720, 130, 44, 30, 64, 130, 40
_WINDOWS = 60
_SHORTEST_WINDOW_S = 1.0

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve of a panel; with `is_dots`, its points are not joined."""

    name: str
    points: Sequence[Point]
    is_dots: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """A diagram over time; `limit` is the largest permitted number, 0 for none."""

    title: str
    curves: Sequence[Curve]
    limit: float = 0.0


def panels(run: Run) -> list[Panel]:
    """Return the diagrams of a run."""
    page = [(r.start_s, 1e3 * r.seconds) for r in run.tally.requests if r.kind in PAGE_KINDS]
    done = [(c.start_s, c.seconds) for c in run.tally.compilations if c.outcome == "finished"]
    memory = [
        Curve("lasting processes", [(s.at_s, s.steady.pss / 1e6) for s in run.samples]),
        Curve("with children", [(s.at_s, s.all.pss / 1e6) for s in run.samples]),
    ]
    window_s = max(_SHORTEST_WINDOW_S, run.lesson.seconds / _WINDOWS)
    latency = [
        Curve(name, windows(page, window_s, share))
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
    ]
    found = [
        Panel("page requests (ms)", latency, 1e3 * PAGE_LIMIT_S),
        Panel("compilations (s)", [Curve("each", done, is_dots=True)], COMPILE_LIMIT_S),
        Panel("active compilations", [Curve("active", _steps(run.lesson.active))]),
        Panel("memory (PSS, MB)", memory),
    ]
    return [each for each in found if any(curve.points for curve in each.curves)]


def windows(points: Sequence[Point], window_s: float, share: float) -> list[Point]:
    """Return the percentile of the points in each window of time."""
    of: dict[int, list[float]] = {}
    for at_s, number in points:
        of.setdefault(int(at_s // window_s), []).append(number)
    return [((k + 0.5) * window_s, percentile(of[k], share)) for k in sorted(of)]


def _steps(points: Sequence[tuple[float, int]]) -> list[Point]:
    """Return the corners of a function that jumps."""
    found: list[Point] = []
    for at_s, n in points:
        found += [(at_s, found[-1][1] if found else 0.0), (at_s, float(n))]
    return found


def svg(run: Run) -> str:
    """Draw a run."""
    shown = panels(run)
    height = _TOP + len(shown) * (_PANEL + _GAP) + _BOTTOM - _GAP
    end_s = max([run.lesson.seconds, *(p[0] for d in shown for c in d.curves for p in c.points)])
    parts = [
        part
        for i, panel in enumerate(shown)
        for part in _panel(panel, _TOP + i * (_PANEL + _GAP), end_s)
    ]
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, height - 6, "time (min)", "middle"))
    inside = "\n  ".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="Latency and memory over time" font-family="system-ui, sans-serif" '
        f'font-size="12">\n  {inside}\n</svg>\n'
    )


def _panel(panel: Panel, top: float, end_s: float) -> Iterator[str]:
    numbers = [p[1] for curve in panel.curves for p in curve.points]
    most = _round_up(max([*numbers, panel.limit]))
    bottom, right = top + _PANEL, _WIDTH - _RIGHT

    def place(point: Point) -> Point:
        return _LEFT + (right - _LEFT) * point[0] / end_s, bottom - _PANEL * point[1] / most

    yield _text(_LEFT, top - 8, panel.title, "start")
    for number in (0.0, most / 2, most):
        y = place((0, number))[1]
        yield _line(_LEFT, y, right, y, 'stroke-opacity="0.3"')
        yield _text(_LEFT - 8, y + 4, f"{number:g}", "end")
    for minute in _minutes(end_s):
        x = place((60 * minute, 0))[0]
        yield _line(x, top, x, bottom, 'stroke-opacity="0.15"')
        yield _text(x, bottom + 15, f"{minute:g}", "middle")
    if panel.limit:
        y = place((0, panel.limit))[1]
        yield _line(_LEFT, y, right, y, 'stroke-dasharray="5 4"')
        yield _text(right + 8, y + 4, "limit", "start")
    for i, curve in enumerate(panel.curves):
        colour = COLOURS[i % len(COLOURS)]
        yield from _curve(curve, [place(each) for each in curve.points], colour)
        yield _text(right + 8, top + 28 + 16 * i, curve.name, "start", colour)


def _curve(curve: Curve, places: Sequence[Point], colour: str) -> Iterator[str]:
    if curve.is_dots:
        for x, y in places:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.6" fill="{colour}"/>'
        return
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def _round_up(number: float) -> float:
    """Return the next number of the form 1, 2 or 5 times a power of ten."""
    step = 1e-3
    while True:
        for factor in (1, 2, 5):
            if factor * step >= number:
                return factor * step
        step *= 10


def _minutes(end_s: float) -> list[float]:
    step = _round_up(end_s / 60 / 12)
    return [k * step for k in range(int(end_s / 60 / step) + 1)]


def _line(x0: float, y0: float, x1: float, y1: float, more: str) -> str:
    return f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="{INK}" {more}/>'


def _text(x: float, y: float, words: str, anchor: str, colour: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'
