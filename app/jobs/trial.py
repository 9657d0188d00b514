"""Trial compilations in the fork server, before it forks its first child.

The first compilation of a process imports modules, generates methods of dataclasses and tables of
rules, and initialises LLVM. All children inherit the memory of the fork server, so a trial saves
each of them this work. The models ship with the program, so the memory contains no data of users.
"""

from __future__ import annotations

import gc
import threading
import traceback
from collections.abc import Mapping
from typing import Any

from app.jobs.compile import compile_model
from app.jobs.limits import Limits
from app.jobs.results import Results
from app.jobs.task import MODEL, Source, Task
from app.samples import Sample, samples
from app.wire.requests import JobRequest

MODELS = ("digits_cnn", "digits_mlp")
"""Two samples whose operators most models share; each takes a fraction of a second."""
_LIMITS = Limits(seconds=60.0, memory_bytes=4 << 30, output_bytes=256 << 20)
_ENDING_S = 5.0


def compile_samples() -> None:
    """Compile the models of the trial, and discard the results. A failure is only logged."""
    found, others = samples(), {*threading.enumerate()}
    for name in MODELS:
        if name in found:
            try:
                compile_model(_task(found[name]), Results(_discard, _LIMITS.output_bytes))
            except Exception:  # children then compile their first model without a trial
                traceback.print_exc()
    for thread in {*threading.enumerate()} - others:
        thread.join(_ENDING_S)  # the threads that have run LLVM end by themselves
    gc.collect()


def _task(sample: Sample) -> Task:
    request = JobRequest("compile", {"sample": sample.id}).to_json()
    source = Source("sample", sample.id, sample.id, sample.path.stat().st_size)
    return Task(request, _LIMITS, {MODEL: sample.path}, model=source)


def _discard(event: str, data: Mapping[str, Any], body: bytes) -> None:
    pass
