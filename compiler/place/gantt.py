"""Gantt charts of schedules: one row per device and link, with a highlighted critical path."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from compiler.place.placement import Slot
from compiler.place.platform import Platform
from compiler.place.schedule import Activity, Schedule, critical_path
from compiler.place.tasks import TaskGraph
from compiler.units import seconds_text

WIDTH, LEFT, RIGHT, TOP, ROW, BAR = 960, 110, 16, 30, 34, 22
TASK, MOVE, CRITICAL, INK = "#0b6bcb", "#1a7f4b", "#b5480a", "#6b7280"
MOST_TICKS = 8
LONGEST_NAME = 15
"""The maximum length of a row's name, in letters."""

LETTER = 7.0
"""The width of a letter in pixels; a bar shows its name only if the bar is wide enough."""


def gantt_svg(graph: TaskGraph, platform: Platform, schedule: Schedule) -> str:
    """Draw the schedule as an SVG image that is readable on light and dark pages.

    Colours highlight the critical path, and a legend explains the colours. Each bar has a title
    that states its times.
    """
    rows = _rows(platform, schedule)
    whole = schedule.makespan_seconds or 1.0
    scale = (WIDTH - LEFT - RIGHT) / whole
    bottom = TOP + ROW * len(rows)
    height = bottom + 52
    critical = {id(x) for x in critical_path(graph, schedule)}
    parts = [*_axis(schedule.makespan_seconds, scale, bottom), *_key(schedule, bottom + 40)]
    for number, (name, activities) in enumerate(rows):
        top = TOP + ROW * number
        short = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}\u2026"
        parts.append(_text(LEFT - 8, top + BAR / 2 + 4, short, "end", INK))
        for x in activities:
            parts += _bar(x, top, scale, id(x) in critical)
    inside = "\n  ".join(parts)
    words = f"{schedule.platform}: {seconds_text(schedule.makespan_seconds)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(words)}" font-family="system-ui, sans-serif" font-size="12">\n'
        f"  {inside}\n</svg>\n"
    )


def _rows(platform: Platform, schedule: Schedule) -> list[tuple[str, list[Activity]]]:
    """Return the rows with their activities: first all devices, then all used channels of links."""
    rows: list[tuple[str, list[Activity]]] = [
        (d.name, [s for s in schedule.slots if s.device == d.name]) for d in platform.devices
    ]
    for link in platform.links:
        lanes: list[list[Activity]] = []
        for m in sorted(schedule.moves, key=lambda m: m.start):
            if m.link != link.name:
                continue
            free = next((x for x in lanes if x[-1].end <= m.start), None)
            if free is None:
                lanes.append(free := [])
            free.append(m)
        rows += [(link.name, lane) for lane in lanes]
    return rows


def _axis(whole: float, scale: float, bottom: float) -> Iterator[str]:
    """Yield a vertical line at each tick."""
    step = _step(whole)
    for i in range(int(whole / step) + 1):
        seconds = i * step
        x = LEFT + seconds * scale
        yield (
            f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom:.1f}" stroke="{INK}" '
            f'stroke-opacity="0.3"/>'
        )
        anchor = "end" if x + 3 * LETTER > WIDTH - RIGHT else "middle"
        yield _text(x, bottom + 16, seconds_text(seconds), anchor, INK)


def _step(whole: float) -> float:
    """Return the smallest step of 1, 2 or 5 times a power of ten that gives few enough ticks."""
    if whole <= 0.0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(whole / MOST_TICKS))
    return next(m * power for m in (1, 2, 5, 10, 20) if m * power * MOST_TICKS >= whole)


def _key(schedule: Schedule, y: float) -> Iterator[str]:
    """Yield the legend of the colours and the label of the total time."""
    x = LEFT
    for colour, words in ((TASK, "task"), (MOVE, "transfer"), (CRITICAL, "critical path")):
        yield f'<circle cx="{x + 5}" cy="{y - 4}" r="5" fill="{colour}" fill-opacity="0.6"/>'
        yield _text(x + 15, y, words, "start", INK)
        x += 40 + round(LETTER * len(words))
    all_of_it = f"{seconds_text(schedule.makespan_seconds)} in total"
    yield _text(WIDTH - RIGHT, y, all_of_it, "end", INK)


def _bar(x: Activity, top: float, scale: float, is_critical: bool) -> Iterator[str]:
    name = x.task if isinstance(x, Slot) else x.datum
    words = f"{name} {seconds_text(x.start)} to {seconds_text(x.end)}"
    if not isinstance(x, Slot):
        words += f", {x.source} to {x.to}"
    colour = CRITICAL if is_critical else TASK if isinstance(x, Slot) else MOVE
    left, width = LEFT + x.start * scale, max((x.end - x.start) * scale, 0.5)
    edge = f'stroke="{colour}" stroke-width="{1 if is_critical else 0.5}"'
    yield (
        f'<rect x="{left:.2f}" y="{top:.1f}" width="{width:.2f}" height="{BAR}" fill="{colour}" '
        f'fill-opacity="{0.45 if is_critical else 0.3}" {edge}>'
        f"<title>{escape(words)}{', critical' if is_critical else ''}</title></rect>"
    )
    if len(name) * LETTER + 6 <= width:
        yield _text(left + width / 2, top + BAR / 2 + 4, name, "middle", "currentColor")


def _text(x: float, y: float, words: str, anchor: str, colour: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}">{escape(words)}</text>'


def gantt_text(graph: TaskGraph, platform: Platform, schedule: Schedule, columns: int = 72) -> str:
    """Draw the schedule in characters: `=` busy, `#` on the critical path, `.` idle."""
    whole = schedule.makespan_seconds or 1.0
    critical = {id(x) for x in critical_path(graph, schedule)}
    rows = _rows(platform, schedule)
    width = max((len(name) for name, _ in rows), default=0)
    lines = [
        f"{name:>{width}} {_cells(activities, whole, columns, critical)}"
        for name, activities in rows
    ]
    end = seconds_text(schedule.makespan_seconds)
    return "\n".join([*lines, f"{'':>{width}} 0{end:>{columns - 1}}"])


def _cells(activities: Sequence[Activity], whole: float, columns: int, critical: set[int]) -> str:
    """Return a character for each time interval; it represents the interval's longest activity."""
    cells = [{"=": 0.0, "#": 0.0} for _ in range(columns)]
    for x in activities:
        start, end = x.start / whole * columns, x.end / whole * columns
        for i in range(int(start), min(int(end) + 1, columns)):
            cells[i]["#" if id(x) in critical else "="] += min(end, i + 1) - max(start, i)
    marks = (max(c, key=c.__getitem__) if max(c.values()) >= 0.25 else "." for c in cells)
    return "".join(marks)
