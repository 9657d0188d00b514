"""Threads of a program: the check of their number, and this machine's threading runtime."""

from __future__ import annotations

from compiler.codegen.threads import openmp
from compiler.codegen.threads.pool_text import has_thread_pool
from compiler.errors import CompileError
from compiler.targets.options import CodeOptions, Forking
from compiler.targets.target import Target, host

MAX_THREADS = 256
"""Maximum number of threads: a larger number is a mistake, since waiting threads occupy
processors."""


def code_options(target: Target, threads: int) -> tuple[CodeOptions, tuple[str, ...]]:
    """Return options of code generation, and notes about missing threads or too many threads.

    Errors: E-OPTION-VALUE for an invalid number of threads.
    """
    threads = checked_threads(threads)
    if threads == 1 or target.name != "host":
        return CodeOptions(target, threads), ()
    forking = _forking(target)
    if forking is None:
        why = f"runs on one thread, not {threads}: this machine has no OpenMP runtime"
        return CodeOptions(target), (f"{why} ({openmp.HOW_TO_GET})",)
    n = host().n_cores
    more = f"{threads} threads share {n} processor{'' if n == 1 else 's'}"
    return CodeOptions(target, threads, forking=forking), (more,) if threads > n else ()


def _forking(target: Target) -> Forking | None:
    """Return the thread interface for this machine; None if there is none."""
    if has_thread_pool(target):
        return "pool"
    found = openmp.runtime()
    return None if found is None else found.forking


def checked_threads(threads: object) -> int:
    """Check a number of threads. Errors: E-OPTION-VALUE."""
    if isinstance(threads, int) and not isinstance(threads, bool) and 1 <= threads <= MAX_THREADS:
        return threads
    raise CompileError(
        "E-OPTION-VALUE",
        f"threads is a whole number from 1 to {MAX_THREADS}, got {threads!r:.40}",
    )
