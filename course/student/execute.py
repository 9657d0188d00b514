"""Execution of student code in this process: its names, its output, and errors at its lines."""

from __future__ import annotations

import io
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import Any, TypeVar

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from course.student.show import collected

MOST_OUTPUT = 10_000
"""Maximum number of characters of output that are kept."""
MOST_CODE = 100_000
"""Maximum length of a file of student code."""

_STEPS_PER_LOOK = 1000
"""Jumps and calls in student code between two looks at the clock."""

T = TypeVar("T")


class Overtime(BaseException):
    """Raised in student code at its time limit; `except Exception` does not catch it."""


class Output(io.TextIOBase):
    """Keeps the first characters that are written."""

    def __init__(self) -> None:
        self.text = ""

    def writable(self) -> bool:
        """Return True: the stream accepts text."""
        return True

    def write(self, s: str, /) -> int:
        """Keep the part of the text that fits."""
        self.text += s[: MOST_OUTPUT - len(self.text)]
        return len(s)


@dataclass(slots=True)
class Student:
    """Student code that was executed: the names that it defines, and all its output."""

    source: str
    names: Mapping[str, Any]
    output: Output

    def call(self, fn: Callable[[], T]) -> T:
        """Call a function that runs student code. Errors: E-ANSWER-*, at the student's line."""
        try:
            with redirect_stdout(self.output):
                return fn()
        except (Exception, SystemExit) as e:
            raise error_in(e, self.source) from e

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function by name. Errors: E-ANSWER-FORM."""
        found = self.names.get(name)
        if not isinstance(found, types.FunctionType):
            message = f"the answer defines no function {name}"
            raise CompileError("E-ANSWER-FORM", message, where=Where(self.source))
        return found


def load(code: str, source: str) -> Student:
    """Execute a file of student code.

    Errors: E-ANSWER-SIZE, E-ANSWER-PYTHON, and E-ANSWER-FORM, at the student's line.
    """
    if len(code) > MOST_CODE:
        message = f"the code has {len(code):,} characters; the limit is {MOST_CODE:,}"
        raise CompileError("E-ANSWER-SIZE", message, where=Where(source))
    names: dict[str, Any] = {"__name__": "answer", "__builtins__": __builtins__}
    student = Student(source, names, Output())
    collected()

    def run() -> None:
        exec(compile(code, source, "exec", dont_inherit=True), names)

    student.call(run)
    return student


def error_in(e: BaseException, source: str) -> CompileError:
    """Return an exception as an error at the line of student code that raised it."""
    if isinstance(e, SyntaxError):
        line, column = e.lineno or 1, e.offset or 1
        hint = "correct the syntax at this place"
        where = Where(source, line, column)
        return CompileError("E-ANSWER-PYTHON", f"{e.msg}", where=where, hint=hint)
    where = Where(source, line_in(e, source), 1)
    if isinstance(e, CompileError):
        return e.moved_to(where)
    words = f"{type(e).__name__}: {e}" if str(e) else type(e).__name__
    return CompileError("E-ANSWER-PYTHON", words[:2_000], where=where)


def line_in(e: BaseException, source: str) -> int:
    """Return the last line of a file that an exception passed, or 0."""
    found, frame = 0, e.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == source:
            found = frame.tb_lineno
        frame = frame.tb_next
    return found


@contextmanager
def within(seconds: float, source: str) -> Generator[None]:
    """Raise Overtime in the block after some seconds, if this is the main thread of a process.

    A web worker has no signals. There, jumps and calls in the code of the file `source` look at the
    clock, and the page terminates a worker whose other code does not end.
    """
    if sys.platform == "emscripten":
        with _watched(seconds, source):
            yield
        return
    timed = hasattr(signal, "setitimer") and seconds > 0
    if not timed or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise Overtime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _watched(seconds: float, source: str) -> Generator[None]:
    """Raise Overtime in a file's code after some seconds. Requires Python 3.12."""
    monitoring = vars(sys)["monitoring"]
    events = monitoring.events
    tool, kinds = monitoring.DEBUGGER_ID, (events.JUMP, events.PY_START)
    end, left = time.monotonic() + seconds, _STEPS_PER_LOOK

    def step(code: types.CodeType, *place: int) -> Any:
        nonlocal left
        if code.co_filename != source:
            return monitoring.DISABLE  # for this place of the code
        left -= 1
        if left <= 0:
            left = _STEPS_PER_LOOK
            if time.monotonic() > end:
                raise Overtime
        return None

    monitoring.use_tool_id(tool, "overtime")
    for kind in kinds:
        monitoring.register_callback(tool, kind, step)
    monitoring.set_events(tool, events.JUMP | events.PY_START)
    try:
        yield
    finally:
        monitoring.set_events(tool, 0)
        for kind in kinds:
            monitoring.register_callback(tool, kind, None)
        monitoring.free_tool_id(tool)
