"""The options of a compilation: each is declared once, with its default and its check."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields, replace
from functools import cached_property
from os import PathLike
from typing import Any, TypeVar, cast, dataclass_transform

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.limits import Limits, checked_limits
from compiler.machine.database import Tuned, tuned_schedules
from compiler.memory.orders import METHODS
from compiler.passes.pipeline.pipeline import Pipeline
from compiler.passes.pipeline.precision import precision_mode, with_precision
from compiler.passes.pipeline.text import as_pipeline
from compiler.runtime.threads import checked_threads, code_options
from compiler.schedule.language.sections import as_schedules
from compiler.targets.options import CodeOptions, KernelSchedule, Spread
from compiler.targets.target import Target, by_name
from compiler.trace import Event, Gate

Progress = Callable[[str, Event | None], None]
"""Callback that receives the name of each step when the step starts, and the event of each pass
when the pass ends."""

Class = TypeVar("Class")


def option(*, default: Any, converter: Callable[[Any], Any]) -> Any:
    """Declare an option whose value the converter checks and returns in its final form."""
    return field(default=default, metadata={"converter": converter})


@dataclass_transform(frozen_default=True, field_specifiers=(option,))
def checked(cls: type[Class]) -> type[Class]:
    """Return a frozen dataclass whose constructor applies the converters of its fields."""

    def convert(self: Class) -> None:
        for f in fields(cast("Any", self)):
            converter = f.metadata.get("converter")
            if converter is not None:
                object.__setattr__(self, f.name, converter(getattr(self, f.name)))

    cls.__post_init__ = convert  # type: ignore[attr-defined]
    return dataclass(frozen=True)(cls)


def _accepting(words: str, fits: Callable[[object], bool]) -> Callable[[Any], Any]:
    """Return a converter that rejects unfit values with a message that begins with `words`."""

    def converter(given: object) -> object:
        if fits(given):
            return given
        raise CompileError("E-OPTION-VALUE", f"{words}, got {given!r:.60}")

    return converter


def _is_flag(given: object) -> bool:
    return isinstance(given, bool)


def _is_function(given: object) -> bool:
    return given is None or callable(given)


def _target(given: str | Target) -> Target:
    return given if isinstance(given, Target) else by_name(given)


def _precision(name: str) -> str:
    return precision_mode(name).name


def _shapes(given: Mapping[str, Sequence[int]] | None) -> dict[str, tuple[int, ...]]:
    inputs: object = given
    if inputs is None:
        return {}
    if not isinstance(inputs, Mapping):
        raise CompileError(
            "E-INPUT-SHAPE", f"inputs must map names to shapes, got {type(inputs).__name__}"
        )
    return {str(name): _shape(str(name), shape) for name, shape in inputs.items()}


def _shape(name: str, shape: object) -> tuple[int, ...]:
    try:
        return tuple(operator.index(size) for size in shape)  # type: ignore[attr-defined]
    except TypeError as e:
        raise CompileError(
            "E-INPUT-SHAPE",
            f"the shape of {name!r:.60} must be a tuple of integers, got {shape!r:.60}",
            hint='for example inputs={"x": (1, 3, 224, 224)}',
        ) from e


def _tier(tier: int) -> int:
    if tier not in (0, 1) or isinstance(tier, bool):
        raise CompileError(
            "E-OPTION-VALUE",
            f"tier must be 0 or 1, got {tier!r:.40}",
            hint="tier 0 starts sooner, tier 1 runs faster",
        )
    return int(tier)


def _order(order: str) -> str:
    given: object = order
    if not isinstance(given, str) or given not in METHODS:
        raise CompileError(
            "E-OPTION-VALUE", f"no order is named {order!r:.40}; orders: {', '.join(METHODS)}"
        )
    return order


def _memory_limit(limit_bytes: int | None) -> int | None:
    given: object = limit_bytes
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise CompileError(
            "E-OPTION-VALUE", f"a memory limit must be a number of bytes, got {given!r:.40}"
        )
    return given


def _spread(spread: str) -> Spread:
    if spread == "loops":
        return "loops"
    if spread == "branches":
        return "branches"
    raise CompileError("E-OPTION-VALUE", f"spread must be loops or branches, got {spread!r:.40}")


def _seconds(given: Mapping[str, float] | None) -> dict[str, float]:
    def is_time(value: object) -> bool:
        return isinstance(value, int | float | np.floating) and bool(0 <= value < math.inf)

    seconds: object = given
    if seconds is None:
        return {}
    if not isinstance(seconds, Mapping) or not all(
        isinstance(k, str) and is_time(v) for k, v in seconds.items()
    ):
        raise CompileError(
            "E-OPTION-VALUE", f"seconds must map names of values to times, got {seconds!r:.60}"
        )
    return dict(seconds)


@checked
class Options:
    """The checked options of a compilation; `compile` in compiler/cached.py describes each option.

    Errors: E-PIPELINE-*, E-TARGET-NAME, E-SCHEDULE-*, E-INPUT-SHAPE, E-OPTION-VALUE.
    """

    pipeline: Pipeline = option(default="default", converter=as_pipeline)
    target: Target = option(default="host", converter=_target)
    threads: int = option(default=1, converter=checked_threads)
    precision: str = option(default="f32", converter=_precision)
    inputs: Mapping[str, tuple[int, ...]] = option(default=None, converter=_shapes)
    trace: bool = option(
        default=True, converter=_accepting("trace must be True or False", _is_flag)
    )
    progress: Progress | None = option(
        default=None, converter=_accepting("progress must be a function", _is_function)
    )
    verify: bool = option(
        default=True, converter=_accepting("verify must be True or False", _is_flag)
    )
    buckets: Mapping[str, Sequence[int]] | None = None  # checked with the dimensions of the model
    gate: Gate | None = option(
        default=None, converter=_accepting("gate must be a function", _is_function)
    )
    schedules: tuple[KernelSchedule, ...] = option(default=None, converter=as_schedules)
    tier: int = option(default=1, converter=_tier)
    tuned: bool | str | PathLike[str] | Tuned = option(
        default=True,
        converter=_accepting(
            "tuned must be True, False, a file or a database",
            lambda given: isinstance(given, bool | str | PathLike | Tuned),
        ),
    )
    order: str = option(default="best", converter=_order)
    memory_limit_bytes: int | None = option(default=None, converter=_memory_limit)
    spread: Spread = option(default="loops", converter=_spread)
    seconds: Mapping[str, float] = option(default=None, converter=_seconds)
    limits: Limits | None = option(default=None, converter=checked_limits)

    @cached_property
    def passes(self) -> Pipeline:
        """Return the pipeline with the passes and pass options of the precision mode."""
        has_tiles = self.target.has_bf16_tiles
        return with_precision(self.pipeline, self.precision, has_tiles=has_tiles)

    @cached_property
    def code(self) -> CodeOptions:
        """Return the options of code generation. Errors: E-TUNE-DATABASE."""
        return replace(
            self._of_threads[0],
            schedules=self.schedules,
            tuned=self.tuned_schedules,
            tier=self.tier,
            order=self.order,
            memory_limit_bytes=self.memory_limit_bytes,
            in_parts=precision_mode(self.precision).in_parts,
            spread=self.spread,
            seconds=self.seconds,
        )

    @cached_property
    def tuned_schedules(self) -> Tuned | None:
        """Return the schedules that `tuned` selects. Errors: E-TUNE-DATABASE."""
        if isinstance(self.tuned, Tuned):
            return self.tuned
        if not self.tuned:
            return None
        return tuned_schedules(None if self.tuned is True else self.tuned, self._of_threads[0])

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes about the number of threads, and about tuned schedules that kernels use."""
        found = self.tuned_schedules
        return (*self._of_threads[1], *((str(found),) if found is not None and found.used else ()))

    @cached_property
    def _of_threads(self) -> tuple[CodeOptions, tuple[str, ...]]:
        return code_options(self.target, self.threads)
