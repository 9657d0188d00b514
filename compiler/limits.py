"""Limits on models, time and memory, and the budget of a call.

`with limited(limits):` opens a budget for all code that the block calls. The code in the block
calls `check` between steps, and `check_bytes` or `check_work` before a large step.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import field, replace
from time import monotonic as _monotonic

from compiler.dataclass import dataclass
from compiler.errors import CompileError, require
from compiler.targets.memory import machine_bytes

OPERATIONS_PER_SECOND = 20_000_000_000
"""The speed assumed when time is estimated; it is high, so only excessive work is refused."""

NODE_BYTES = 6_000
"""Compiler memory per node of a model, in bytes, measured on models of 10,000 nodes."""

MESSAGE_BYTES = 150
"""Memory of one parsed protobuf message, in bytes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds on a model file, and on the time and the memory of a call.

    Units: wall-clock seconds, bytes and counts, as in the names of the fields.
    The defaults suit a user's own files on the user's own machine.
    """

    seconds: float = math.inf
    """Maximum wall-clock time of a call of the public API."""
    bytes: int = field(default_factory=machine_bytes)
    """Maximum memory of a call, in addition to its file and inputs; by default the machine's
    memory."""
    stop: threading.Event | None = None
    """The event that cancels the call: the call stops soon after the event is set."""

    file_bytes: int = 2 << 30
    unknown_bytes: int = 1 << 20
    """Maximum number of bytes in fields that the ONNX format does not define."""
    name_bytes: int = 1 << 16
    """Maximum length of a name in bytes; documentation strings are not names."""
    n_messages: int = 20_000_000
    """Maximum number of protobuf messages of all kinds: even an empty message takes memory."""
    nested_messages: int = 98
    """Maximum nesting depth of protobuf messages; the protobuf library itself stops at 100."""
    nested_regions: int = 32
    """Maximum nesting depth of subgraphs and function calls."""
    nested_types: int = 8
    """Maximum nesting depth of sequences, optionals and maps."""
    n_nodes: int = 250_000
    """Maximum number of nodes, including nodes of subgraphs, after functions are inlined."""
    n_operands: int = 50_000
    """Maximum number of operands and results of a node, in total."""
    n_symbols: int = 2_000
    """Maximum number of distinct symbolic sizes among the inputs."""
    n_initialisers: int = 1_000_000
    rank: int = 32
    dim: int = 1 << 40
    """Maximum size of an axis."""
    tensor_elements: int = 1 << 33
    """Maximum number of elements of a stored tensor."""
    dense_elements: int = 1 << 24
    """Maximum number of elements of a sparse tensor in its dense form."""

    def __post_init__(self) -> None:
        """Check the limits on seconds and bytes. Errors: E-OPTION-VALUE."""
        seconds, n_bytes = self.seconds, self.bytes
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        good = number and seconds >= 0
        require(
            good, "E-OPTION-VALUE", f"a limit on seconds must be at least 0, got {seconds!r:.40}"
        )
        good = isinstance(n_bytes, int) and not isinstance(n_bytes, bool) and n_bytes >= 0
        require(good, "E-OPTION-VALUE", f"a limit on bytes must be at least 0, got {n_bytes!r:.40}")

    def check(self, what: str, found: int, allowed: int) -> None:
        """Check a count against its limit. Errors: E-MODEL-SIZE."""
        if found > allowed:
            shown = f"{found:,}" if found < 10**18 else "more than 10**18"
            raise CompileError("E-MODEL-SIZE", f"{what}: {shown}; the limit is {allowed:,}")


OWN_LIMITS = Limits()
"""Limits for a user's own files on the user's own machine."""

UPLOAD_LIMITS = Limits(
    file_bytes=64 << 20,
    unknown_bytes=1 << 16,
    name_bytes=1 << 12,
    n_messages=1_000_000,
    nested_regions=12,
    n_nodes=20_000,
    n_operands=5_000,
    n_symbols=500,
    n_initialisers=20_000,
    rank=16,
    tensor_elements=1 << 26,
    dense_elements=1 << 20,
)
"""Limits for uploads from unknown users; the server also sets the limits on time and memory."""


# The clock of all limits


_not_counted_seconds = 0.0


def not_counted(seconds: float) -> None:
    """Exclude from all limits a number of seconds in which the process was stopped or waited."""
    global _not_counted_seconds
    _not_counted_seconds += seconds


def monotonic() -> float:
    """Return the monotonic time in seconds, without the times that limits exclude."""
    return _monotonic() - _not_counted_seconds


# The budget of a call


@dataclass(slots=True)
class Budget:
    """The limits and the deadline of a call. `end` is a time of `monotonic`, in seconds."""

    limits: Limits
    end: float
    doing: str = ""

    def check(self, doing: str = "") -> None:
        """Check the deadline. Errors: E-LIMIT-SECONDS after the deadline or a cancellation."""
        self.doing = doing or self.doing
        stop = self.limits.stop
        if stop is not None and stop.is_set():
            raise CompileError("E-LIMIT-SECONDS", f"cancelled on request{self._place()}")
        if monotonic() > self.end:
            raise self.too_long()

    def too_long(self) -> CompileError:
        """Return the error for a call that exceeds its time limit."""
        message = f"the call exceeded its limit of {self.limits.seconds:.3g} s{self._place()}"
        return CompileError("E-LIMIT-SECONDS", message)

    def _place(self) -> str:
        return f", at {self.doing}" if self.doing else ""


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


def checked_limits(limits: Limits | None) -> Limits | None:
    """Return the limits. Errors: E-OPTION-VALUE for any value except `Limits` and None."""
    given: object = limits
    if given is None or isinstance(given, Limits):
        return given
    raise CompileError("E-OPTION-VALUE", f"limits must be of the class Limits, got {given!r:.60}")


@contextmanager
def limited(limits: Limits | None) -> Generator[None]:
    """Run the block within these limits and the limits of enclosing blocks.

    Errors: E-LIMIT-SECONDS, and E-LIMIT-MEMORY if the system is out of memory.
    """
    limits = checked_limits(limits) or OWN_LIMITS
    outer = _budget.get()
    end = monotonic() + limits.seconds
    if outer is not None:
        end = min(end, outer.end)
        limits = replace(
            limits,
            bytes=min(limits.bytes, outer.limits.bytes),
            stop=limits.stop or outer.limits.stop,
        )
    budget = Budget(limits, end)
    token = _budget.set(budget)
    alarm = _Alarm(end) if outer is None and end < math.inf else None
    try:
        budget.check()
        yield
    except MemoryError as e:
        raise CompileError("E-LIMIT-MEMORY", f"out of memory: {e}") from e
    except _Interrupt:
        raise budget.too_long() from None
    finally:
        if alarm is not None:
            alarm.end()
        _budget.reset(token)


def check(doing: str = "") -> None:
    """Check the deadline between passes, nodes or kernels. Errors: E-LIMIT-SECONDS."""
    budget = _budget.get()
    if budget is not None:
        budget.check(doing)


def bytes_left() -> int:
    """Return the memory that one step may use now, in bytes."""
    budget = _budget.get()
    return machine_bytes() if budget is None else budget.limits.bytes


def has_deadline() -> bool:
    """Return whether the current call has a deadline or can be cancelled."""
    budget = _budget.get()
    return budget is not None and (budget.end < math.inf or budget.limits.stop is not None)


def check_bytes(n_bytes: int, what: str, code: str = "E-LIMIT-MEMORY") -> None:
    """Check the memory of a step before it starts. Errors: E-LIMIT-MEMORY, or `code`."""
    allowed = bytes_left()
    if n_bytes > allowed:
        raise CompileError(code, f"{what} takes {n_bytes:,} bytes; {allowed:,} are allowed")


def check_seconds(seconds: float, what: str) -> None:
    """Check, before a step starts, that the step can finish before the deadline. Errors:
    E-LIMIT-SECONDS."""
    budget = _budget.get()
    if budget is None or monotonic() + seconds <= budget.end:
        return
    raise CompileError(
        "E-LIMIT-SECONDS",
        f"{what}: the step was not started, because it needs at least {seconds:.3g} s, more "
        f"than the rest of the limit of {budget.limits.seconds:.3g} s",
    )


def check_work(operations: int, what: str) -> None:
    """Check, before a step starts, that its operations can finish before the deadline. Errors:
    E-LIMIT-SECONDS."""
    budget = _budget.get()
    if budget is not None and budget.end < math.inf:
        check_seconds(operations / OPERATIONS_PER_SECOND, f"{what} takes {operations:,} operations")


def is_limit(error: Exception) -> bool:
    """Return whether an error reports an exceeded limit rather than a defect."""
    return isinstance(error, CompileError) and error.code.startswith(("E-LIMIT-", "E-RUN-MEMORY"))


# The fallback for Python code that runs long between two checks


GRACE_SECONDS = 0.25
"""Delay in seconds between the deadline and the interrupt.

During the delay, a check may raise a more precise error.
"""


class _Interrupt(BaseException):
    """Raised inside Python code after the deadline; `except Exception` does not catch it."""


class _Alarm:
    """A thread that interrupts its creator thread repeatedly after the deadline.

    The thread cannot interrupt native code. Callers therefore check the estimated time of native
    code before the code starts.
    """

    def __init__(self, end: float) -> None:
        self._thread = ctypes.c_ulong(threading.get_ident())
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._end = end
        self._has_raised = False
        with suppress(RuntimeError):  # no threads, as in a browser
            threading.Thread(target=self._wait, name="time limit", daemon=True).start()

    def _wait(self) -> None:
        while (left := self._end - monotonic()) > 0:
            if self._over.wait(left):
                return
        while not self._over.wait(GRACE_SECONDS):
            with self._lock:
                if not self._over.is_set():
                    self._has_raised = True
                    _raise_in(self._thread)

    def end(self) -> None:
        """Stop interrupting, and receive an interrupt that may be pending.

        Cancelling the interrupt would leave the flag of pending interrupts set in CPython 3.11. All
        later code would then be slower, and a profiler or debugger would not return.
        """
        while True:
            try:
                if self._over.is_set():
                    return
                with self._lock:
                    self._over.set()
                while self._has_raised:  # no other interrupt follows this one
                    _raise_in(self._thread)
            except _Interrupt:
                continue


def _raise_in(thread: ctypes.c_ulong) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(_Interrupt))
