"""Runs of a kernel as machine code and by the interpreter, on the same random arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.codegen.jit import Library, ObjectStore
from compiler.codegen.module import module_ir
from compiler.ir.types import DType
from compiler.loops.interpret import interpret
from compiler.loops.nodes import Buffer, Kernel
from compiler.loops.text import parse_kernel
from compiler.loops.verify import verify_kernel
from compiler.targets.options import Forking
from compiler.targets.target import Target, host
from tests.guard_pages import at_end

Array = np.ndarray[Any, np.dtype[Any]]


def random_array(b: Buffer, rng: np.random.Generator) -> Array:
    """Return elements of all relevant magnitudes of a type, or small integers."""
    if b.dtype is DType.bool:
        return rng.integers(0, 2, b.shape).astype(np.bool_)
    if b.dtype.is_integer:
        low = 0 if b.dtype.label[0] == "u" else -100
        return rng.integers(low, 120, b.shape).astype(b.dtype.numpy)
    return rng.normal(0, 3, b.shape).astype(b.dtype.numpy)


def random_arrays(kernel: Kernel, seed: int = 0) -> dict[str, Array]:
    """Return an array for every parameter of a kernel."""
    rng = np.random.default_rng(seed)
    return {b.name: random_array(b, rng) for b in kernel.params}


def run_native(
    kernel: Kernel,
    arrays: dict[str, Array],
    target: Target | None = None,
    sizes: dict[str, int] | None = None,
    threads: int = 1,
    forking: Forking = "gomp",
) -> None:
    """Run the machine code of a kernel on arrays that end at guard pages.

    Buffers have only the alignment of an element unless the kernel requires more, so that a load or
    store of a single byte after a buffer ends the process. Canaries precede each buffer.
    """
    target = target or host()
    text = module_ir({"k": kernel}, [], target, threads=threads, forking=forking)
    library = Library.compile(text, target, ObjectStore(None))
    alignment = CACHE_LINE_BYTES if "!nontemporal" in text else 1
    guarded = {name: _guarded(a, alignment) for name, a in arrays.items()}
    pointers = [inner.ctypes.data for _, inner in (guarded[b.name] for b in kernel.params)]
    numbers = [(sizes or {})[n] for n in kernel.sizes]
    library.function("k", len(pointers) + len(numbers))(*pointers, *numbers)
    for name, (outer, inner) in guarded.items():
        n, first = inner.nbytes, inner.ctypes.data - outer.ctypes.data
        assert (outer[:first] == 171).all(), f"{name} was written before its first byte"
        assert (outer[first + n :] == 171).all(), f"{name} was written after its last byte"
        arrays[name][...] = inner


CACHE_LINE_BYTES = 64
"""Alignment of buffers for non-temporal stores."""


def _guarded(a: Array, alignment: int) -> tuple[Array, Array]:
    """Return bytes up to a guard page, and a copy of the array at their end."""
    size = CACHE_LINE_BYTES + -(-a.nbytes // alignment) * alignment
    outer = at_end(np.full(size, 171, np.uint8), alignment)
    inner = outer[CACHE_LINE_BYTES:][: a.nbytes].view(a.dtype).reshape(a.shape)
    inner[...] = a
    return outer, inner


def compare(
    kernel: Kernel | str,
    arrays: dict[str, Array] | None = None,
    rtol: float = 0.0,
    target: Target | None = None,
) -> dict[str, Array]:
    """Check that machine code and interpreter agree; return the results of the machine code."""
    if isinstance(kernel, str):
        kernel = parse_kernel(kernel)
    assert parse_kernel(str(kernel)) == kernel
    verify_kernel(kernel)
    arrays = arrays or random_arrays(kernel)
    expected = {name: a.copy() for name, a in arrays.items()}
    found = {name: a.copy() for name, a in arrays.items()}
    interpret(kernel, expected)
    run_native(kernel, found, target)
    for b in kernel.params:
        a, e = found[b.name], expected[b.name]
        if b.dtype.is_float:
            a, e = a.astype(np.float64), e.astype(np.float64)
            np.testing.assert_allclose(a, e, rtol=rtol, atol=rtol * 3, err_msg=b.name)
        else:
            np.testing.assert_array_equal(a, e, err_msg=b.name)
    return found
