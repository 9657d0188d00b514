"""Judging on a server: the code of an answer runs in a sandbox, the judge outside of it."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from course.judging.exercise import Exercise
from course.judging.judge import Find, judge
from course.judging.judgement import Question, Reply
from course.judging.session import error_of
from course.student.execute import MOST_OUTPUT, Overtime
from sandbox.fresh import run
from sandbox.limits import Limits
from sandbox.result import Result
from sandbox.view import Inputs

CODE_FOLDER = "/code"
_START = (
    f"import sys; sys.path.insert(0, {CODE_FOLDER!r}); "
    "from course.judging.child import main; main()"
)
ANSWER_LIMITS = Limits(seconds=45.0, output_bytes=8 << 20)
"""The limits of each run of an answer's code; its processor time ends an endless loop first."""
JUDGE_SECONDS = 60.0


Runs = Callable[[bytes, Limits], Result]
"""A function that runs the code of an answer: the standard input of its process, and its limits."""


def in_new_sandbox(stdin: bytes, limits: Limits, cancelled: Event | None = None) -> Result:
    """Run the process that executes the code of an answer, in a new sandbox.

    Errors: SandboxError if no sandbox can be built.
    """
    root = Path(__file__).resolve().parents[2]
    folders = {f"{CODE_FOLDER}/{name}": root / name for name in ("compiler", "course")}
    command = [sys.executable, "-I", "-c", _START]
    return run(command, limits, Inputs(folders=folders), stdin=stdin, cancelled=cancelled)


@dataclass(slots=True)
class InSandbox:
    """Runs the code of an answer in a new sandbox for each list of questions."""

    exercise: Exercise
    code: str
    limits: Limits = ANSWER_LIMITS
    runs: Runs = in_new_sandbox
    output: str = ""

    def ask(self, questions: Sequence[Question]) -> Sequence[Reply]:
        """Return the replies. Errors: Overtime, E-LIMIT-MEMORY, E-LIMIT-OUTPUT, E-ANSWER-*."""
        nonce = secrets.token_hex(16)
        task = {
            "nonce": nonce,
            "exercise": self.exercise.to_json(),
            "code": self.code,
            "questions": list(questions),
        }
        done = self.runs(json.dumps(task).encode(), self.limits)
        if done.state == "seconds":
            raise Overtime
        if not done.ok:
            code = {"output": "E-LIMIT-OUTPUT", "memory": "E-LIMIT-MEMORY"}.get(done.state)
            message = f"the answer's process ended early ({done.state} {done.code})"
            raise CompileError(code or "E-LIMIT-CRASH", message)
        return self._replies(done.stdout, nonce)

    def _replies(self, text: bytes, nonce: str) -> Sequence[Reply]:
        """Read the output of the process; hostile code may have written it."""
        try:
            answer: Any = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, Mapping) or answer.get("nonce") != nonce:
            raise CompileError("E-ANSWER-FORM", "the answer's process wrote no replies")
        self.output = str(answer.get("output", ""))[:MOST_OUTPUT]
        if "error" in answer:
            found = error_of(answer)
            assert found is not None, "an error is given"
            raise found
        replies = answer.get("replies")
        return replies if isinstance(replies, list) else []


def judge_apart(
    request: dict[str, Any],
    find: Find,
    limits: Limits = ANSWER_LIMITS,
    runs: Runs = in_new_sandbox,
    seconds: float = JUDGE_SECONDS,
) -> dict[str, Any]:
    """Judge the answer of a request; its code runs in sandboxes only.

    `find` returns an exercise by its name, so a client cannot change an exercise. `runs` executes
    the code; a judge that is itself in a sandbox asks its server to do so.
    Errors: SandboxError if no sandbox can be built.
    """
    return judge(
        request, lambda exercise, code: InSandbox(exercise, code, limits, runs), find, seconds
    )
