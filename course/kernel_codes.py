"""The machine code of kernels under given schedules, for a target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from compiler.errors import CompileError
from compiler.schedule.language.replay import replay
from compiler.schedule.policy import schedule as chosen
from compiler.targets.options import CodeOptions
from compiler.targets.target import Target

if TYPE_CHECKING:
    from compiler.runtime.kernel_code import Code
    from compiler.runtime.thunks.kernels import KernelInfo


def kernel_codes(
    kernels: Iterable[KernelInfo], schedules: Mapping[str, str], target: Target
) -> Iterator[Code]:
    """Yield the code of each kernel with loops.

    `schedules` has texts of schedules by the name of a kernel or of a value that it computes.
    Kernels without such a text have the default schedule. Errors: E-SCHEDULE-*.
    """
    from compiler.runtime.kernel_code import code_of

    options = CodeOptions(target)
    generated = [k for k in kernels if k.computation is not None]
    unknown = sorted(schedules.keys() - {n for k in generated for n in (k.name, *k.writes)})
    if unknown:
        raise CompileError("E-SCHEDULE-NAME", f"no kernel computes {unknown[0]!r:.60}")
    for k in generated:
        assert k.computation is not None, "chosen above"
        text = next((schedules[n] for n in (k.name, *k.writes) if n in schedules), None)
        if text is None:
            made = chosen(k.computation, k.constants, options)
        else:
            made = replay(text, k.computation, k.constants, options)
        yield code_of(made, target)
