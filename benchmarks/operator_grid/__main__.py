"""Single operators with unusual legal parameters, compared with another runtime.

    python -m benchmarks.operator_grid [--only OP] [--against onnxruntime] [--seconds 0.5]

Each model has one node. Both runtimes use one thread, and run interleaved in one process on one
processor after a warm-up. Times are minima. A ratio is the peer's time over ours, with a 95 %
confidence interval over the rounds. Cases with less than half of the peer's speed come first; the
exit code is 1 if such cases exist. Cases that the peer runs in less than 50 us measure calls, not
operators: they are marked and do not count.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

import compiler
from benchmarks.operator_grid.case import Case
from benchmarks.operator_grid.grid import cases
from compiler.bench.peers import first_run, load_peer
from compiler.bench.timing import interleaved, pinned, ratio_of_minima
from compiler.errors import CompileError

LEAST_S = 50e-6
SLOW = 0.5


@dataclass(frozen=True, slots=True)
class Row:
    """The times of one case. Units: seconds; `ratio` is the peer's time over ours."""

    case: str
    ours: float
    peer: float
    ratio: float
    low: float
    high: float
    error: float

    @property
    def counts(self) -> bool:
        """Return whether the time is that of the operator, rather than of its call."""
        return self.peer >= LEAST_S


def main() -> int:
    options = _options()
    wanted = [c for c in cases() if not options.only or c.op in options.only]
    rows: list[Row] = []
    left_out: list[str] = []
    with pinned():
        for i, case in enumerate(wanted):
            print(f"\r{i + 1} of {len(wanted)}", end="", file=sys.stderr, flush=True)
            try:
                rows.append(measured(case, options.against, options.seconds))
            except CompileError as e:
                left_out.append(f"{case.op} {case.name}: {e.code}: {e.message}")
    print(file=sys.stderr)
    rows.sort(key=lambda r: r.ratio)
    slow = [r for r in rows if r.counts and r.ratio < SLOW]
    if options.json:
        print(json.dumps({"rows": [asdict(r) for r in rows], "left_out": left_out}, indent=1))
    else:
        _print(rows, slow, left_out, options.against)
    return 1 if slow or not rows else 0


def measured(case: Case, against: str, seconds: float) -> Row:
    """Measure one case in both runtimes. Errors: CompileError if either rejects the model."""
    model, inputs = case.model(), case.inputs()
    peer = load_peer(against, model)
    expected = first_run(peer, inputs)
    program = compiler.compile(compiler.load(model), trace=False)
    error = _difference(program.run(inputs), expected)
    calls = {"ours": lambda: program.run(inputs), "peer": lambda: peer.run(inputs)}
    times = interleaved(calls, seconds, min_rounds=5)
    ratio = ratio_of_minima(times["peer"], times["ours"])
    least = (times["ours"].least, times["peer"].least)
    return Row(f"{case.op} {case.name}", *least, ratio.value, ratio.low, ratio.high, error)


def _difference(made: Mapping[str, Any], expected: Mapping[str, Any]) -> float:
    """Return the largest difference, relative to the largest magnitude of each output."""
    worst = 0.0
    for name, value in expected.items():
        ours, theirs = (np.asarray(v, np.float64) for v in (made[name], value))
        if theirs.size:
            with np.errstate(invalid="ignore"):
                off = np.abs(ours - theirs)[
                    ~((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
                ]
            scale = float(np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0)) or 1.0
            worst = max(worst, float(off.max(initial=0.0)) / scale)
    return worst


def _print(rows: Sequence[Row], slow: Sequence[Row], left_out: Sequence[str], peer: str) -> None:
    print(f"slower than {SLOW} of {peer}: {len(slow)}")
    for row in slow:
        print(_line(row))
    print(f"\n{'case':58} {'ours us':>9} {'peer us':>9}  ratio  interval      error")
    for row in rows:
        print(_line(row))
    for line in left_out:
        print(f"left out: {line}")
    counted = [r.ratio for r in rows if r.counts]
    if counted:
        print(f"\n{len(counted)} cases, median {median(counted):.2f}, worst {min(counted):.2f}")


def _line(r: Row) -> str:
    note = "" if r.counts else "  (short)"
    return (
        f"{r.case:58} {r.ours * 1e6:9.1f} {r.peer * 1e6:9.1f}  {r.ratio:5.2f}  "
        f"{r.low:.2f}..{r.high:.2f}  {r.error:.0e}{note}"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--only", action="append", default=[], help="operator to measure; repeatable"
    )
    parser.add_argument("--against", default="onnxruntime")
    parser.add_argument("--seconds", type=float, default=0.5, help="seconds per case")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
