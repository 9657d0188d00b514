"""All hostile files, each in a child process, and a table: `python -m tests.malformed.sweep`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence

from compiler.units import bytes_text
from tests.malformed import growth, mutations, odd_values
from tests.malformed.hostile import FAMILIES, Hostile, hostile_files
from tests.malformed.judge import BYTES, SECONDS, Verdict, judged, warm_up

MODULES = (growth, mutations, odd_values)
"""Modules of families; importing them registers the families."""


def main() -> int:
    """Sweep, print, and return the number of files with a wrong answer."""
    options = _options()
    warm_up()
    files = list(hostile_files(tuple(options.family)))
    chosen = [f for f in files if options.name in f"{f.family}.{f.name}"][:: options.every]
    found: list[Verdict] = []
    for n, file in enumerate(chosen):
        found.append(_judged(file, options.default_limits))
        if not found[-1].is_good or options.list:
            print(_line(found[-1]), flush=True)
        elif sys.stdout.isatty():
            print(f"{n:>6,} of {len(chosen):,}", end="\r", flush=True)
    print(report(found))
    return min(sum(not v.is_good for v in found), 100)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", action="append", default=[], choices=sorted(FAMILIES))
    parser.add_argument("--name", default="", help="only files with this in family.name")
    parser.add_argument("--every", type=int, default=1, help="only each n-th file")
    parser.add_argument("--list", action="store_true", help="print a line for each file")
    parser.add_argument("--default-limits", action="store_true", help="as the library has them")
    parser.add_argument("-v", action="store_true", help="show what children print")
    return parser.parse_args()


def _judged(file: Hostile, default_limits: bool) -> Verdict:
    start = time.monotonic()
    try:
        return judged(file, default_limits)
    except Exception as e:
        words = f"the file could not be made: {type(e).__name__}: {e}"
        return Verdict(file.family, file.name, 0, "BUG maker", words, time.monotonic() - start, 0)


def report(found: Sequence[Verdict]) -> str:
    """Return the outcomes by family, the slowest and largest, and the number of wrong answers."""
    by_family: dict[str, Counter[str]] = defaultdict(Counter)
    for v in found:
        by_family[v.family][v.outcome] += 1
    lines = [f"{len(found):,} files, at most {SECONDS:g} s and {bytes_text(BYTES)} each", ""]
    for name, outcomes in by_family.items():
        shown = ", ".join(f"{n} {what}" for what, n in outcomes.most_common())
        lines.append(f"{name:12} {outcomes.total():>5}  {shown}")
    lines += ["", "slowest"]
    lines += [_line(v) for v in sorted(found, key=lambda v: -v.seconds)[:8]]
    lines += ["", "most memory"]
    lines += [_line(v) for v in sorted(found, key=lambda v: -v.memory_bytes)[:8]]
    bad = [v for v in found if not v.is_good]
    lines += ["", f"not answered as they should be: {len(bad)}"]
    return "\n".join([*lines, *map(_line, bad)])


def _line(v: Verdict) -> str:
    mark = " " if v.is_good else "!"
    figures = f"{v.seconds:6.2f} s {bytes_text(v.memory_bytes):>8}"
    return f"{mark} {figures}  {v.family}.{v.name}: {v.outcome} {v.words:.160}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
