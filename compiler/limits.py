"""Limits on a model and on the work that it causes, and the budget that all work is counted in.

`with limited(limits):` opens a budget for everything that runs inside, however deep. The work asks
it at its natural steps: `check` between them, `check_bytes` and `check_work` before a large one.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import field, replace
from time import monotonic

from compiler.dataclass import dataclass
from compiler.errors import CompileError, require
from compiler.targets.memory import machine_bytes

OPERATIONS_PER_SECOND = 20_000_000_000
"""The pace that work is estimated at: few references are as fast, so only too much is refused."""

NODE_BYTES = 6_000
"""Memory that compiling takes per node of a model, measured on models of 10,000 nodes."""

MESSAGE_BYTES = 150
"""Memory that one parsed protobuf message takes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds on a model file and on the work that it causes.

    Units: wall-clock seconds, bytes and counts, as the names say.
    The defaults are for one's own files on one's own machine.
    """

    seconds: float = math.inf
    """Wall-clock time of one call of the public door."""
    bytes: int = field(default_factory=machine_bytes)
    """Memory of one call beyond its file and inputs; by default what the machine has."""
    stop: threading.Event | None = None
    """The work ends soon after this is set."""

    file_bytes: int = 2 << 30
    unknown_bytes: int = 1 << 20
    """Bytes in fields that the ONNX format does not have."""
    name_bytes: int = 1 << 16
    """Bytes of one name; documentation strings are not names."""
    n_messages: int = 20_000_000
    """Protobuf messages of all kinds: each costs memory however small it is."""
    nested_messages: int = 98
    """Depth of messages inside messages; the protobuf library itself stops at 100."""
    nested_regions: int = 32
    """Depth of subgraphs and function calls inside each other."""
    nested_types: int = 8
    """Depth of sequences, optionals and maps inside each other."""
    n_nodes: int = 250_000
    """Nodes, those of subgraphs included, after functions are put in place."""
    n_operands: int = 50_000
    """Operands and results of one node."""
    n_symbols: int = 2_000
    """Different sizes of inputs without a number."""
    n_initialisers: int = 1_000_000
    rank: int = 32
    dim: int = 1 << 40
    """The size of one axis."""
    tensor_elements: int = 1 << 33
    """Elements of one stored tensor."""
    dense_elements: int = 1 << 24
    """Elements of a sparse tensor once its zeros are written out."""

    def __post_init__(self) -> None:
        """Errors: E-OPTION-VALUE."""
        seconds, n_bytes = self.seconds, self.bytes
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        good = number and seconds >= 0
        require(good, "E-OPTION-VALUE", f"a limit on seconds is not {seconds!r:.40}")
        good = isinstance(n_bytes, int) and not isinstance(n_bytes, bool) and n_bytes >= 0
        require(good, "E-OPTION-VALUE", f"a limit on bytes is not {n_bytes!r:.40}")

    def check(self, what: str, found: int, allowed: int) -> None:
        """Errors: E-MODEL-SIZE."""
        if found > allowed:
            shown = f"{found:,}" if found < 10**18 else "more than 10**18"
            raise CompileError("E-MODEL-SIZE", f"{what}: {shown}; at most {allowed:,} are read")


OWN_LIMITS = Limits()
"""For one's own files on one's own machine."""

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
"""For files that strangers give a server, which adds seconds and bytes."""


# The budget of a call


@dataclass(slots=True)
class Budget:
    """What the work under way may still use. Units: `end` in seconds of the monotonic clock."""

    limits: Limits
    end: float
    doing: str = ""

    def check(self, doing: str = "") -> None:
        """Errors: E-LIMIT-SECONDS when the time is over or somebody asked to stop."""
        self.doing = doing or self.doing
        stop = self.limits.stop
        if stop is not None and stop.is_set():
            raise CompileError("E-LIMIT-SECONDS", f"stopped as asked{self._place()}")
        if monotonic() > self.end:
            raise self.too_long()

    def too_long(self) -> CompileError:
        """The error of work that did not end in time."""
        message = f"not done after the limit of {self.limits.seconds:.3g} s{self._place()}"
        return CompileError("E-LIMIT-SECONDS", message)

    def _place(self) -> str:
        return f", at {self.doing}" if self.doing else ""


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def limited(limits: Limits | None) -> Generator[None]:
    """Do the work of the block within limits; inside of other limits, within both.

    Errors: E-LIMIT-SECONDS, and E-LIMIT-MEMORY where the system has no more memory.
    """
    limits = OWN_LIMITS if limits is None else limits
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
        raise CompileError("E-LIMIT-MEMORY", f"no more memory is to be had: {e}") from e
    except _Interrupt:
        raise budget.too_long() from None
    finally:
        if alarm is not None:
            alarm.end()
        _budget.reset(token)


def check(doing: str = "") -> None:
    """A natural place to stop: between passes, nodes, kernels. Errors: E-LIMIT-SECONDS."""
    budget = _budget.get()
    if budget is not None:
        budget.check(doing)


def bytes_left() -> int:
    """Memory that one step may use now."""
    budget = _budget.get()
    return machine_bytes() if budget is None else budget.limits.bytes


def has_deadline() -> bool:
    """Whether the work under way has to end at some time, or may be asked to stop."""
    budget = _budget.get()
    return budget is not None and (budget.end < math.inf or budget.limits.stop is not None)


def check_bytes(n_bytes: int, what: str, code: str = "E-LIMIT-MEMORY") -> None:
    """Ask before a step for its memory. Errors: E-LIMIT-MEMORY, or what `code` says."""
    allowed = bytes_left()
    if n_bytes > allowed:
        raise CompileError(code, f"{what} takes {n_bytes:,} bytes; {allowed:,} are allowed")


def check_seconds(seconds: float, what: str) -> None:
    """Ask before a step whether it can end in time. Errors: E-LIMIT-SECONDS."""
    budget = _budget.get()
    if budget is None or monotonic() + seconds <= budget.end:
        return
    raise CompileError(
        "E-LIMIT-SECONDS",
        f"{what}: at least {seconds:.3g} s, which is more than is left of the limit of "
        f"{budget.limits.seconds:.3g} s; it was not begun",
    )


def check_work(operations: int, what: str) -> None:
    """Ask before a step whether its operations can end in time. Errors: E-LIMIT-SECONDS."""
    budget = _budget.get()
    if budget is not None and budget.end < math.inf:
        check_seconds(operations / OPERATIONS_PER_SECOND, f"{what} takes {operations:,} operations")


def is_limit(error: Exception) -> bool:
    """Whether an error says that work was too much, and not that something is wrong."""
    return isinstance(error, CompileError) and error.code.startswith(("E-LIMIT-", "E-RUN-MEMORY"))


# The net below: Python code between two checks may take long


GRACE_SECONDS = 0.25
"""Checks come first: their errors say more."""


class _Interrupt(BaseException):
    """Raised in the midst of Python code, past every handler, when the time is over."""


class _Alarm:
    """A thread that interrupts the one that makes it, again and again after the end.

    Native code is not interrupted: what is handed to it is estimated beforehand.
    """

    def __init__(self, end: float) -> None:
        self._thread = ctypes.c_ulong(threading.get_ident())
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._end = end
        with suppress(RuntimeError):  # no thread is to be had, as in a browser
            threading.Thread(target=self._wait, name="time limit", daemon=True).start()

    def _wait(self) -> None:
        if self._over.wait(max(self._end - monotonic(), 0.0)):
            return
        while not self._over.wait(GRACE_SECONDS):
            with self._lock:
                if not self._over.is_set():
                    _raise_in(self._thread, ctypes.py_object(_Interrupt))

    def end(self) -> None:
        """Interrupt no more."""
        while True:
            try:
                with self._lock:
                    self._over.set()
                    _raise_in(self._thread, None)
                return
            except _Interrupt:
                continue


def _raise_in(thread: ctypes.c_ulong, error: ctypes.py_object[type[_Interrupt]] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, error)
