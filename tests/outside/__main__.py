"""Random models against ONNX Runtime, from the command line.

python -m tests.outside --graphs 5000 --seeds 1,2,3
python -m tests.outside --repeat 2/1734 --output /tmp/found
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.outside.case import draw_case
from tests.outside.children import Died, in_child
from tests.outside.reduce import outcome_of
from tests.outside.sweep import FAILURES, Summary, show_reduced, sweep


def main() -> int:
    """Return exit code 1 if the sweep found any failure except disputed results."""
    parser = argparse.ArgumentParser(prog="python -m tests.outside", description=__doc__)
    parser.add_argument("--graphs", type=int, default=1000, help="graphs for each seed")
    parser.add_argument("--seeds", default="1", help="seeds, with commas")
    parser.add_argument("--first", type=int, default=0, help="index of the first graph")
    parser.add_argument("--repeat", metavar="SEED/INDEX", help="only this one")
    parser.add_argument("--seconds", type=float, default=120, help="for one trial")
    parser.add_argument("--reduce", type=float, default=60, help="seconds for each kind of failure")
    parser.add_argument("--output", type=Path, default=Path("build/outside"), help="a folder")
    options = parser.parse_args()
    if options.repeat:
        seed, index = map(int, options.repeat.split("/"))
        return _repeat(seed, index, options)
    last = options.first + options.graphs
    seeds = [int(s) for s in options.seeds.split(",")]
    cases = [(s, i) for s in seeds for i in range(options.first, last)]
    found = sweep(cases, options.seconds, lambda line: print(line, flush=True))
    summary = Summary()
    for (seed, index), outcome in found.items():
        summary.add(seed, index, outcome)
    if options.reduce:
        for where in [places[0] for places in summary.failures.values()]:
            text = show_reduced(*where, found[where], options.output, options.reduce)
            print(f"\n{where[0]}/{where[1]}: {found[where].detail}\n{text}", flush=True)
    print(summary)
    return int(any(summary.kinds[k] for k in FAILURES if k != "disputed"))


def _repeat(seed: int, index: int, options: argparse.Namespace) -> int:
    try:
        case = in_child(lambda: draw_case(seed, index))
    except Died:
        print("peer: ONNX Runtime crashes while the model is drawn")
        return 0
    outcome = outcome_of(case, seconds=options.seconds)
    print(outcome.kind, outcome.way, outcome.detail)
    if outcome.kind in FAILURES:
        print(show_reduced(seed, index, outcome, options.output, options.reduce))
    return int(outcome.kind not in ("right", "disputed"))


if __name__ == "__main__":
    sys.exit(main())
