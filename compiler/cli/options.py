"""Options that several commands share: models, shapes, pipelines, random weights."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import click

from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.limits import OWN_LIMITS, Limits
from compiler.memory.orders import METHODS
from compiler.passes.pipeline.precision import PRECISIONS
from compiler.targets.options import Spread

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

Shapes = dict[str, tuple[int, ...]]


class NamedNumbers(click.ParamType):
    """A name and whole numbers, as `x=1,3,224,224`; `may_be_none` takes `x=` too."""

    def __init__(self, metavar: str, example: str, *, may_be_none: bool = False) -> None:
        self.name = metavar
        self.example = example
        self.may_be_none = may_be_none

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[int, ...]]:
        """Name and numbers. Errors: E-OPTION-VALUE."""
        if isinstance(value, tuple):
            return value  # type: ignore[return-value]
        name, equals, numbers = str(value).rpartition("=")
        try:
            if not equals or not name:
                raise ValueError(value)
            texts = numbers.split(",")
            return name, tuple(int(n) for n in texts if n.strip() or not self.may_be_none)
        except ValueError:
            raise CompileError(
                "E-OPTION-VALUE", f"needed {self.example}, got {value!r:.80}"
            ) from None


SHAPE = NamedNumbers("NAME=D,D,...", "a shape such as x=1,3,224,224", may_be_none=True)
"""An input's name and its shape. `x=` is the shape of a single number."""

BUCKET = NamedNumbers("SIZE=N,N,...", "a bucket such as N=1,8,32")
"""An open size by its name, and the sizes that get code of their own."""


def model_argument(required: bool = True) -> Decorator:
    """The argument MODEL."""
    return click.argument("model", required=required, type=click.Path(path_type=Path))


def shape_option() -> Decorator:
    """`--shape`, several times."""
    return click.option(
        "--shape",
        "shapes",
        multiple=True,
        type=SHAPE,
        help="Shape of an input whose dimensions the model leaves open.",
    )


def bucket_option() -> Decorator:
    """`--bucket`, several times."""
    return click.option(
        "--bucket",
        "buckets",
        multiple=True,
        type=BUCKET,
        help="Code of its own for these values of an open size; others take the general program.",
    )


def named_buckets(pairs: Sequence[tuple[str, tuple[int, ...]]]) -> Shapes:
    """The sizes by name, those of a name given several times together."""
    found: Shapes = {}
    for name, sizes in pairs:
        found[name] = (*found.get(name, ()), *sizes)
    return found


def pipeline_options() -> Decorator:
    """`--pipeline` and `--precision`."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        command = click.option(
            "--precision",
            default="f32",
            show_default=True,
            type=click.Choice(list(PRECISIONS)),
            help="Accuracy of the arithmetic.",
        )(command)
        return pipeline_option()(command)

    return add


def pipeline_option() -> Decorator:
    """`--pipeline`."""
    return click.option(
        "--pipeline",
        default="default",
        show_default=True,
        help="A preset, or passes with options: simplify,fold_constants{max_growth=1.1},fuse.",
    )


def without_option() -> Decorator:
    """`--without RULE`, several times."""
    return click.option(
        "--without",
        multiple=True,
        metavar="RULE",
        help="Do no rewrite of this rule; several times.",
    )


def tolerance_option() -> Decorator:
    """`--tolerance`; left out, it is that of the precision mode."""
    return click.option(
        "--tolerance",
        default=None,
        type=click.FloatRange(min=0),
        help="Largest error relative to an output's scale; by default what --precision promises.",
    )


class ScheduleFile(click.ParamType):
    """A file with schedules of kernels; its text."""

    name = "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """What stands in the file, as far as it is read."""
        from compiler.schedule.language.sections import MOST_CHARACTERS

        try:
            with Path(value).open(encoding="utf-8-sig") as file:
                return file.read(MOST_CHARACTERS + 1)
        except (OSError, ValueError) as e:
            raise CompileError("E-SCHEDULE-FILE", f"{value} could not be read: {e}") from e


def schedule_option() -> Decorator:
    """`--schedule FILE`."""
    return click.option(
        "--schedule",
        "schedules",
        type=ScheduleFile(),
        default=None,
        help="Moves for kernels, in place of the policies', as --emit schedules writes them.",
    )


def tier_option() -> Decorator:
    """`--tier`."""
    return click.option(
        "--tier",
        default=1,
        show_default=True,
        type=click.IntRange(0, 1),
        help="0: code that is made quickly and runs slowly, until better code is ready.",
    )


UNITS = {
    "": 1, "B": 1,
    "KB": 1000, "MB": 1000**2, "GB": 1000**3,
    "KIB": 1024, "MIB": 1024**2, "GIB": 1024**3,
}  # fmt: skip
"""Bytes of the units in which a limit may be given."""


class Bytes(click.ParamType):
    """`8MB`, `512KiB`, `100000`: a number of bytes."""

    name = "BYTES"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """How many bytes."""
        found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*([A-Za-z]*)\s*", str(value))
        if found is None or found[2].upper() not in UNITS:
            raise CompileError(
                "E-OPTION-VALUE",
                f"needed a number of bytes such as 8MB, 512KiB or 100000, got {value!r:.40}",
            )
        return int(Decimal(found[1]) * UNITS[found[2].upper()])


def memory_limit_option() -> Decorator:
    """`--memory-limit BYTES`."""
    return click.option(
        "--memory-limit",
        "memory_limit_bytes",
        type=Bytes(),
        default=None,
        help="How large the arena may be, as in 8MB: kernels run again where it would be larger.",
    )


def time_limit_option() -> Decorator:
    """`--time-limit SECONDS`."""
    return click.option(
        "--time-limit",
        "seconds",
        type=click.FloatRange(min=0),
        default=math.inf,
        help="Seconds that each of reading, compiling and running may take; else an error.",
    )


def order_option() -> Decorator:
    """`--order`."""
    return click.option(
        "--order",
        default="best",
        show_default=True,
        type=click.Choice(list(METHODS)),
        help="How kernels are put in order, to need little memory.",
    )


def tuned_option() -> Decorator:
    """`--database FILE` and `--no-tuned`: which schedules that tuning found are used."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        command = click.option(
            "--database",
            type=click.Path(path_type=Path, dir_okay=False),
            default=None,
            help="Schedules that tuning found, instead of those in the user's cache.",
        )(command)
        return click.option(
            "--tuned/--no-tuned", default=True, help="Use schedules that tuning found."
        )(command)

    return add


def tuned_schedules(tuned: bool, database: Path | None) -> bool | str:
    """What `compile` takes for these options."""
    return str(database) if tuned and database is not None else tuned


def threads_option() -> Decorator:
    """`--threads`."""
    return click.option(
        "--threads",
        default=1,
        show_default=True,
        type=int,
        help="How many threads a run uses.",
    )


def spread_option() -> Decorator:
    """`--spread`."""
    return click.option(
        "--spread",
        default="loops",
        show_default=True,
        type=click.Choice(get_args(Spread)),
        help="What threads share: the loops of each kernel, or branches of the graph, by a plan.",
    )


def random_weights_option() -> Decorator:
    """`--random-weights SEED`."""
    return click.option(
        "--random-weights",
        "weights_seed",
        type=int,
        default=None,
        metavar="SEED",
        help="Replace weights that are one number throughout by random ones.",
    )


def named_shapes(pairs: Sequence[tuple[str, tuple[int, ...]]]) -> Shapes:
    """The shapes by name. Errors: E-OPTION-VALUE for a name given twice."""
    found: Shapes = {}
    for name, shape in pairs:
        if name in found:
            raise CompileError("E-OPTION-VALUE", f"--shape gives {name!r} twice")
        found[name] = shape
    return found


def model_bytes(path: Path, weights_seed: int | None) -> bytes | Path:
    """The model to read: the file itself, or its bytes with random weights.

    Where there is no such file, the sample of this name with the weights that the page gives it.
    Errors: what reading the file raises.
    """
    if not path.exists():
        path, weights_seed = _sample(path, weights_seed)
    if weights_seed is None:
        return path
    from compiler.frontend import load
    from compiler.frontend.random_weights import random_weights

    load(path)  # says what is wrong with the file before anything is made of it
    return random_weights(path, weights_seed)


def _sample(path: Path, weights_seed: int | None) -> tuple[Path, int | None]:
    """The file and the seed of the sample that is meant; the same where none is."""
    # The page imports the compiler, never the reverse: so its list of samples is found by name.
    found = importlib.import_module("app.samples").samples().get(str(path))
    if found is None:
        return path, weights_seed
    return found.path, found.seed if weights_seed is None else weights_seed


def load_model(path: Path, weights_seed: int | None = None, limits: Limits = OWN_LIMITS) -> Graph:
    """The graph of a model file. Errors: E-MODEL-*, E-LIMIT-*."""
    from compiler.frontend import load

    return load(model_bytes(path, weights_seed), limits)
