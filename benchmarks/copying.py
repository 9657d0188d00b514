"""The cost of a copy on this machine: with plain stores, and with non-temporal stores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.codegen.jit import Library
from compiler.codegen.module import module_ir
from compiler.loops.text import parse_kernel
from compiler.runtime.storage import aligned_bytes
from compiler.targets.target import host


def copies(nbytes: int) -> dict[str, Callable[[], object]]:
    """Return functions that copy an array of `nbytes`: by numpy, and by generated kernels."""
    n = max(nbytes // 4, 64) // 64 * 64
    x, y = (aligned_bytes(4 * n).view(np.float32) for _ in range(2))
    x[:], y[:] = 1, 0
    made: dict[str, Callable[[], object]] = {"copy by numpy": lambda: np.copyto(y, x)}
    for how in ("", "stream "):
        function = _function(n, how)
        made[f"copy {how.strip() or 'plain'}"] = lambda f=function: f(x.ctypes.data, y.ctypes.data)
    return made


def _function(n: int, how: str) -> Callable[[int, int], object]:
    text = f"""
    kernel copy(x: f32[{n}] input, y: f32[{n}] output) {{
      for i in 0..{n // 64} {{ unroll u in 0..4 {{ vector l in 0..16 {{
        {how}y[64*i+16*u+l] = x[64*i+16*u+l]
      }} }} }}
    }}"""
    library = Library.compile(module_ir({"copy": parse_kernel(text)}, [], host()), host())
    function = library.function("copy", 2)
    _KEPT.append(library)
    return function


_KEPT: list[Library] = []
"""The machine code of the copies, which must outlive the functions that call it."""
