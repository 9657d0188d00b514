"""Rows judged in child processes; a child that dies or hangs fails its row and is replaced."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.outside.torch_modules.judging import Verdict

SECONDS = 180.0
"""Time limit of one row, with export, peers and Compilarium."""


@dataclass(frozen=True)
class Task:
    """A row of the table with one exporter, with fixed or with open sizes."""

    case: str
    exporter: str
    is_open: bool

    def __str__(self) -> str:
        return f"{self.case} {self.exporter} {'open' if self.is_open else 'fixed'}"


def verdicts(tasks: Sequence[Task], folder: Path) -> Iterator[tuple[Task, Verdict]]:
    """Yield each task with its verdict, in order."""
    child = _Child(folder)
    try:
        for task in tasks:
            yield task, child.verdict(task)
    finally:
        child.stop()


class _Child:
    """A process that receives tasks and answers with verdicts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: Any = None
        self.ours: Connection

    def verdict(self, task: Task) -> Verdict:
        if self.process is None:
            self._start()
        self.ours.send(task)
        try:
            if self.ours.poll(SECONDS):
                return self.ours.recv()
            reason = f"no answer after {SECONDS:g} s"
        except EOFError:
            self.process.join()
            reason = f"the process ended with exit code {self.process.exitcode}"
        self.stop()
        return Verdict("bug", reason)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.ours, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, self.folder), daemon=True)
        self.process.start()
        theirs.close()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.ours.close()
            self.process = None


def _serve(pipe: Connection, folder: Path) -> None:
    from tests.outside.torch_modules.exporting import NotExported, exported
    from tests.outside.torch_modules.judging import judge
    from tests.outside.torch_modules.table import CASES

    while True:
        try:
            task: Task = pipe.recv()
        except EOFError:
            return
        try:
            case = exported(CASES[task.case], task.exporter, task.is_open, folder)
        except NotExported as e:
            pipe.send(Verdict("unexported", str(e).splitlines()[0][:200]))
            continue
        pipe.send(judge(case))
