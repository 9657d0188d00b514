"""The process in a sandbox that runs the code of an answer: questions in, replies out, as JSON."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Any

from compiler.errors import CompileError
from course.judging.exercise import exercise_of
from course.judging.session import InProcess


def main() -> None:
    """Read a task from the standard input, and write the replies to the standard output.

    File descriptors 1 and 2 of the student's code lead to the null device.
    """
    task: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    channel = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    import_module("course.exercises")
    session = InProcess(exercise_of(task["exercise"]), task["code"])
    answer: dict[str, Any] = {"nonce": task["nonce"]}
    try:
        answer["replies"] = session.ask(task["questions"])
    except CompileError as e:
        answer["error"] = e.to_json()
    answer["output"] = session.output
    with os.fdopen(channel, "wb") as out:
        out.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
