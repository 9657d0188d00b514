"""Judge the table: `python -m tests.outside.torch_modules [--only PATTERN] [--keep DIR]`."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.outside.torch_modules.judging import WRONG, Verdict
from tests.outside.torch_modules.workers import Task, verdicts


def main() -> int:
    """Print rows that are not right, and the counts; return exit code 1 if any row fails."""
    options = _options()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        counts = _judge(_tasks(options), folder, options.verbose)
    _print_counts(counts)
    return int(any(outcome in WRONG for _, outcome in counts))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.outside.torch_modules")
    parser.add_argument(
        "--only", default="", help="a regular expression of `family.name exporter sizes`"
    )
    parser.add_argument(
        "--keep", help="keep exported models in a folder, and take those that are there"
    )
    parser.add_argument("--verbose", action="store_true", help="print rows that are right too")
    return parser.parse_args()


def _tasks(options: argparse.Namespace) -> list[Task]:
    from tests.outside.torch_modules.table import CASES

    tasks = [
        Task(name, exporter, is_open)
        for name, case in CASES.items()
        for exporter in case.exporters
        for is_open in ((False, True) if case.can_be_open else (False,))
    ]
    return [t for t in tasks if re.search(options.only, str(t))]


def _judge(tasks: list[Task], folder: Path, is_verbose: bool) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for task, verdict in verdicts(tasks, folder):
        column = f"{task.exporter} {'open' if task.is_open else 'fixed'}"
        counts[column, verdict.outcome] += 1
        if is_verbose or verdict.outcome != "right" or verdict.note:
            print(_line(task, verdict), flush=True)
    return counts


def _line(task: Task, verdict: Verdict) -> str:
    note = f" [{verdict.note}]" if verdict.note else ""
    return f"{verdict.outcome:10} {task}: {verdict.detail}{note} ({verdict.seconds:.1f} s)"


def _print_counts(counts: Counter[tuple[str, str]]) -> None:
    columns = sorted({column for column, _ in counts})
    outcomes = sorted({outcome for _, outcome in counts})
    print(f"\n{'':20}" + "".join(f"{o:>12}" for o in outcomes))
    for column in columns:
        print(f"{column:20}" + "".join(f"{counts[column, o]:12}" for o in outcomes))
    judged = sum(n for (_, outcome), n in counts.items() if outcome != "unexported")
    print(f"{judged} judged, {sum(n for (_, o), n in counts.items() if o in WRONG)} not right")


if __name__ == "__main__":
    sys.exit(main())
