"""Figures of the work of a run, and of its division into generated code and fallbacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TypedDict

from compiler.figures.figure import figure
from compiler.ir.operator import OPERATORS
from compiler.machine.roofline import Prediction
from compiler.runtime.thunks.kernels import KernelInfo


class Execution(TypedDict):
    """The figures of this module, by the names of their functions."""

    n_kernels: int
    n_native: int
    n_inside: int
    n_fallback: int
    n_crossings: int
    n_uncounted: int
    flops: int
    native_flops: int
    native_share: float | None


def execution(kernels: Sequence[KernelInfo]) -> Execution:
    """Return all figures of a program's kernels."""
    return {
        "n_kernels": n_kernels(kernels),
        "n_native": n_native(kernels),
        "n_inside": n_inside(kernels),
        "n_fallback": n_fallback(kernels),
        "n_crossings": n_crossings(kernels),
        "n_uncounted": n_uncounted(kernels),
        "flops": flops(kernels),
        "native_flops": native_flops(kernels),
        "native_share": native_share(kernels),
    }


def launched(kernels: Iterable[KernelInfo]) -> list[KernelInfo]:
    """Return the launches and fallbacks of a run, without kernels inside them."""
    return [k for k in kernels if not k.inside]


@figure(
    "kernels", "count", "inspect.running.n_kernels = compile.n_kernels = result.running.n_kernels"
)
def n_kernels(kernels: Sequence[KernelInfo]) -> int:
    """The number of kernels of a program: launches, fallbacks, and kernels inside control flow.

    A view is not a kernel, since it computes nothing.
    """
    return len(kernels)


@figure(
    "launches of generated code",
    "count",
    "inspect.running.n_native = compile.n_native = run.n_native = result.running.n_native",
)
def n_native(kernels: Sequence[KernelInfo]) -> int:
    """The number of launches of machine code in a run.

    Control flow whose bodies are machine code is one launch.
    """
    return sum(k.native for k in launched(kernels))


@figure(
    "kernels inside control flow",
    "count",
    "inspect.running.n_inside = compile.n_inside = run.n_inside = result.running.n_inside",
)
def n_inside(kernels: Sequence[KernelInfo]) -> int:
    """The number of kernels and fallbacks in the regions of control-flow nodes.

    The kernels of all branches count, although a run executes only the kernels of one branch.
    """
    return len(kernels) - len(launched(kernels))


@figure(
    "fallbacks",
    "count",
    "inspect.running.n_fallback = compile.n_fallback = run.n_fallback = result.running.n_fallback",
)
def n_fallback(kernels: Sequence[KernelInfo]) -> int:
    """The number of nodes of a run that the reference implementation evaluates.

    A control-flow node that the reference runs is one fallback; nodes in its regions do not count.
    """
    return sum(not k.native for k in launched(kernels))


@figure(
    "crossings",
    "count",
    "inspect.running.n_crossings = compile.n_crossings = result.running.n_crossings",
)
def n_crossings(kernels: Sequence[KernelInfo]) -> int:
    """The number of switches between generated code and the reference within a run.

    It counts the pairs of consecutive launches of which exactly one is machine code.
    """
    return sum(a.native != b.native for a, b in pairwise(launched(kernels)))


@figure(
    "kernels with unknown operations",
    "count",
    "inspect.running.n_uncounted = compile.n_uncounted = result.running.n_uncounted",
)
def n_uncounted(kernels: Sequence[KernelInfo]) -> int:
    """The number of fallbacks whose operator declares no number of operations.

    Of a control-flow node and the kernels inside it, only the kernels count.
    """
    around = {k.inside for k in kernels if k.inside}
    return sum(not k.native and k.name not in around and not _is_counted(k) for k in kernels)


def _is_counted(k: KernelInfo) -> bool:
    operator = OPERATORS.get(k.op)
    return k.flops > 0 or (operator is not None and operator.cost_fn is not None)


@figure(
    "operations of the program",
    "flop",
    "inspect.running.flops = compile.flops = result.running.flops",
)
def flops(kernels: Sequence[KernelInfo]) -> int:
    """The arithmetic operations of one run of the compiled program, as operators declare them.

    Kernels in loops count once per iteration if the number of iterations is known. The kernels of
    all branches count. Fallbacks with unknown operations add nothing.
    """
    return sum(k.flops for k in kernels)


@figure(
    "operations in machine code",
    "flop",
    "inspect.running.native_flops = compile.native_flops = result.running.native_flops",
)
def native_flops(kernels: Sequence[KernelInfo]) -> int:
    """The operations that machine code executes in one run.

    It is the operations of the program minus the operations that the reference runs.
    """
    return sum(k.flops for k in kernels if k.native)


@figure(
    "share of operations in machine code",
    "share",
    "inspect.running.native_share = compile.native_share = result.running.native_share",
)
def native_share(kernels: Sequence[KernelInfo]) -> float | None:
    """The operations in machine code divided by all operations of the program.

    It is unknown if the reference runs a node with unknown operations.
    """
    total = flops(kernels)
    return native_flops(kernels) / total if total and not n_uncounted(kernels) else None


@figure("operations of a kernel", "flop", "compile.kernels[].flops = result.kernels[].flops")
def kernel_flops(kernel: KernelInfo) -> int:
    """The arithmetic operations of a kernel in one run, as its operators declare them.

    For a Winograd convolution, it counts the products of the direct sum, although fewer are
    computed.
    """
    return kernel.flops


@figure(
    "bytes of a kernel",
    "B",
    "profile.kernels[].bytes",
    "compile.kernels[].bytes = result.kernels[].bytes",
)
def kernel_bytes(kernel: KernelInfo) -> int:
    """The bytes of a kernel's operands and results, each counted once for any number of accesses.

    It is the sum of the bytes read and the bytes written.
    """
    return kernel.bytes_read + kernel.bytes_written


@figure(
    "lower bound within a run", "s", "compile.kernels[].predicted_s = result.kernels[].predicted_s"
)
def kernel_bound(prediction: Prediction | None) -> float | None:
    """A lower bound of a kernel's time inside a run on this machine.

    It is the roofline time of the kernel, plus a launch inside a native call. Measured
    kernels are called separately: see the lower bound with a separate call.
    """
    return prediction.seconds if prediction else None


@figure(
    "lower bound of the kernels of a run", "s", "compile.predicted_s = result.running.predicted_s"
)
def kernels_bound(
    kernels: Sequence[KernelInfo], predictions: Mapping[str, Prediction]
) -> float | None:
    """The sum of the lower bounds of all launches in a run; unknown if one of them is a fallback.

    It includes neither the call of the program nor the transfer of inputs and outputs.
    """
    bounds = [kernel_bound(predictions.get(k.name)) for k in launched(kernels)]
    known = [b for b in bounds if b is not None]
    return sum(known) if known and len(known) == len(bounds) else None
