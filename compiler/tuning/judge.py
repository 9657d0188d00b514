"""Evaluation of a schedule: compile, compare results, and time against the untuned kernel.

A candidate runs in a child process, so a crash, a hang or excessive memory does not affect other
candidates. Calls of a candidate are interleaved with calls of the policy's kernel in the same
process, so noise affects both kernels alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, prod
from time import perf_counter
from typing import Any, Literal

import numpy as np

from compiler.bisect.child import Died, in_child
from compiler.codegen.jit import Library, ObjectStore
from compiler.codegen.module import module_ir
from compiler.compute.computation import Computation
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.constant import Array
from compiler.ir.types import DType, TensorType
from compiler.loops.limits import NotLowerable, check_kernel
from compiler.runtime.storage import aligned_bytes, store_logical, to_logical
from compiler.schedule.assemble import Scheduled
from compiler.schedule.language.replay import replay
from compiler.schedule.limits import code_size
from compiler.schedule.policy import schedule
from compiler.targets.options import CodeOptions

Outcome = Literal["right", "refused", "wrong", "failed"]
"""The outcomes of a candidate: correct, rejected by the moves, wrong results, or a failed run."""

LIMIT_SECONDS = 10.0
MEMORY_MEGABYTES = 2048
SAMPLE_SECONDS = 2e-5
"""The duration of a call, in seconds, below which several calls are timed together."""

HOPELESS = 1.3
"""The slowdown, in the first rounds, above which the timing of a candidate stops."""

FIRST_ROUNDS = 3

MORE_CODE, LITTLE_CODE = 3, 500
"""The maximum code size of a candidate: a multiple of the untuned kernel's code size, plus a number
of instructions. Compiling a candidate with more code takes longer than measuring several other
candidates."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome and the times of a candidate.

    Units: seconds of one call. Each time is the mean of a time with warm caches and a time with
    cold caches.
    """

    outcome: Outcome
    seconds: float = inf
    untuned_seconds: float = inf
    words: str = ""

    @property
    def ratio(self) -> float:
        """Return the candidate's time relative to the untuned kernel; infinite if rejected."""
        return self.seconds / self.untuned_seconds if self.outcome == "right" else inf


class Judge:
    """Evaluates schedules of one computation; `constants` lists the names of its constant operands.

    The baseline is the kernel with the policy's schedule, unless `untuned` is given.
    """

    def __init__(
        self,
        computation: Computation,
        constants: frozenset[str],
        options: CodeOptions,
        untuned: Scheduled | None = None,
    ) -> None:
        self.computation = computation
        self.constants = constants
        self.options = options
        self.values = _values(computation)
        made = untuned or schedule(computation, constants, options)
        self.most_code = MORE_CODE * code_size(made.kernel.body, options.target) + LITTLE_CODE
        self.untuned = Runnable(made, self)
        self.cold = aligned_bytes(2 * options.target.l2_bytes).view(np.int64)
        self.cold.fill(0)
        self.untuned.call()
        self.expected = self.untuned.results()

    @property
    def nbytes(self) -> int:
        """Return the bytes of the operands, the results, and the array that evicts the caches."""
        own = sum(a.nbytes for a in self.values.values())
        return own + self.cold.nbytes + sum(a.nbytes for a in self.untuned.arrays.values())

    def verdicts(
        self, texts: Sequence[str], seconds: float, limit: float = LIMIT_SECONDS
    ) -> list[Verdict]:
        """Evaluate schedules in a child process; each schedule is timed for `seconds`.

        All schedules share one child process, because starting a process takes as long as compiling
        a schedule. If the child process dies, each schedule gets a separate process.
        """
        found = self._in_child(texts, seconds, limit)
        if not isinstance(found, Died):
            return found
        if len(texts) == 1:
            return [Verdict("failed", words=found.why)]
        return [v for text in texts for v in self.verdicts([text], seconds, limit)]

    def _in_child(self, texts: Sequence[str], seconds: float, limit: float) -> list[Verdict] | Died:
        def judged() -> list[Verdict]:
            return [self._judged(text, seconds) for text in texts]

        return in_child(judged, limit + seconds * len(texts), MEMORY_MEGABYTES)

    def _judged(self, text: str, seconds: float) -> Verdict:
        try:
            made = replay(text, self.computation, self.constants, self.options)
            check_kernel(made.kernel)
            size = code_size(made.kernel.body, self.options.target)
            if size > self.most_code:
                words = f"the code would have about {size:,} instructions"
                return Verdict("refused", words=words)
            candidate = Runnable(made, self)
        except CompileError as e:
            return Verdict("refused", words=f"{e.code}: {e.message}")
        except NotLowerable as e:
            return Verdict("refused", words=str(e))
        candidate.call()
        for name, value in candidate.results().items():
            if not agrees(value, self.expected[name]):
                return Verdict("wrong", words=f"{name} differs from the untuned result")
        tried, untuned = self._timed(candidate, seconds)
        return Verdict("right", tried, untuned)

    def _timed(self, candidate: Runnable, seconds: float) -> tuple[float, float]:
        """Return the seconds of one call of the candidate, and of one call of the untuned kernel.

        Each time is the mean of the minimum with warm caches and the minimum with cold caches.
        """
        calls = (candidate.call, self.untuned.call)
        n = max(1, int(SAMPLE_SECONDS / max(sample(self.untuned.call, 1), 1e-7)))
        warm, cold = [inf, inf], [inf, inf]
        end, rounds = perf_counter() + seconds, 0
        while rounds < FIRST_ROUNDS or perf_counter() < end:
            for i, call in enumerate(calls):
                warm[i] = min(warm[i], sample(call, n))
            for i, call in enumerate(calls):
                self.cold.sum()
                cold[i] = min(cold[i], sample(call, 1))
            rounds += 1
            if rounds == FIRST_ROUNDS and warm[0] > HOPELESS * warm[1]:
                break
        return (warm[0] + cold[0]) / 2, (warm[1] + cold[1]) / 2


def sample(call: Callable[[], object], n: int) -> float:
    """Return the seconds of one call, averaged over `n` calls."""
    start = perf_counter()
    for _ in range(n):
        call()
    return (perf_counter() - start) / n


class Runnable:
    """A scheduled kernel as machine code, with memory for all its operands and results."""

    def __init__(self, made: Scheduled, judge: Judge) -> None:
        kernel = made.kernel
        self.tensors = judge.computation.tensors
        self.arrays: dict[str, Array] = {}
        for p in kernel.params:
            value, packing = judge.values.get(p.name), made.packings.get(p.name)
            if value is None:
                self.arrays[p.name] = _memory(np.zeros(max(int(p.nbytes), 1), np.uint8))
            elif packing is not None:
                self.arrays[p.name] = _memory(packing.apply(_logical(value, p.name, judge)))
            else:
                self.arrays[p.name] = value.view(np.uint8)  # The array is read-only.
            assert value is None or self.arrays[p.name].nbytes == int(p.nbytes), str(p)
        self.outputs = [p.name for p in kernel.params if p.role == "output"]
        text = module_ir({"candidate": kernel}, [], judge.options.target)
        self.library = Library.compile(text, judge.options.target, ObjectStore(None))
        function = self.library.function("candidate", len(kernel.params))
        pointers = [a.ctypes.data for a in self.arrays.values()]
        self.call: Callable[[], object] = lambda: function(*pointers)

    def results(self) -> dict[str, Array]:
        """Return the results of the last call, as arrays whose axes are logical."""
        found: dict[str, Array] = {}
        for name in self.outputs:
            t = self.tensors[name]
            shape = t.layout.physical_shape(t.static_shape)
            # An empty result has one unused byte of memory.
            n_bytes = prod(shape) * t.dtype.nbytes
            physical = self.arrays[name][:n_bytes].view(t.dtype.numpy)
            found[name] = np.array(to_logical(physical.reshape(shape), t))
        return found


def _memory(content: Array) -> Array:
    """Return a copy of an array's bytes in new memory that starts at a cache line."""
    flat = np.ascontiguousarray(content).reshape(-1).view(np.uint8)
    memory = aligned_bytes(flat.nbytes)
    memory[...] = flat
    return memory


def _logical(value: Array, name: str, judge: Judge) -> Array:
    t = judge.computation.tensors[name]
    assert t.layout.is_plain, f"the constant {name} is {t}"
    return value.reshape(t.static_shape)


def _values(computation: Computation, seed: int = 0) -> Mapping[str, Array]:
    """Return an array of random elements for each operand, in physical layout."""
    chance = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for name in computation.inputs:
        value = _random(computation.tensors[name], chance)
        found[name] = _memory(value).view(value.dtype)
    return found


def _random(t: TensorType, chance: np.random.Generator) -> Array:
    """Return random numbers of a type in physical layout, including padding."""
    shape = t.static_shape
    made: Any
    if t.dtype.is_float or t.dtype in (DType.bf16, DType.f16):
        made = (chance.standard_normal(shape) * 0.5).astype(t.dtype.numpy)
    elif t.dtype is DType.bool:
        made = chance.integers(0, 2, shape).astype(t.dtype.numpy)
    else:
        low = 0 if t.dtype.label.startswith("u") else -4
        made = chance.integers(low, 5, shape).astype(t.dtype.numpy)
    physical = np.empty(tuple(map(int, t.layout.physical_shape(shape))), t.dtype.numpy)
    store_logical(made, physical, t)
    return physical


def agrees(value: Array, expected: Array) -> bool:
    """Return whether two arrays are equal up to the effects of reordered additions.

    Floats may differ by some hundred rounding units of the largest number; elements of other types
    must be equal.
    """
    if value.dtype.kind in "iub" or np.array_equal(value, expected):
        return bool(np.array_equal(value, expected))
    a, b = value.astype(np.float64), expected.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return False
    scale = float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
    margin = UNITS * _unit(expected) * scale
    return bool(np.all(np.abs(a - b) <= margin, where=np.isfinite(b)))


UNITS = 256


def _unit(values: Array) -> float:
    """Return the rounding unit of a float type, relative to 1.

    For types of fewer than 32 bits, return a smaller number: the margin in `agrees` is then two
    rounding units of the type.
    """
    import ml_dtypes

    bits = float(ml_dtypes.finfo(values.dtype).eps)
    return bits if values.dtype.itemsize >= 4 else 2 * bits / UNITS
