"""Options that several commands share: models, shapes, pipelines, random weights."""

from __future__ import annotations

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
    """An option `NAME=INTEGERS`, as in `x=1,3,224,224`; `may_be_none` also allows `x=`."""

    def __init__(self, metavar: str, example: str, *, may_be_none: bool = False) -> None:
        self.name = metavar
        self.example = example
        self.may_be_none = may_be_none

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[int, ...]]:
        """Parse `NAME=INTEGERS` into the name and the integers. Errors: E-OPTION-VALUE."""
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
                "E-OPTION-VALUE", f"expected {self.example}, got {value!r:.80}"
            ) from None


SHAPE = NamedNumbers("NAME=D,D,...", "a shape such as x=1,3,224,224", may_be_none=True)
"""The name and the shape of an input; `x=` gives the shape of a scalar."""

BUCKET = NamedNumbers("SIZE=N,N,...", "a bucket such as N=1,8,32")
"""The name of an open size, and the values for which code is specialised."""


def model_argument(required: bool = True) -> Decorator:
    """Return the argument MODEL."""
    return click.argument("model", required=required, type=click.Path(path_type=Path))


def shape_option() -> Decorator:
    """Return the option `--shape`, repeatable."""
    return click.option(
        "--shape",
        "shapes",
        multiple=True,
        type=SHAPE,
        help="Shape of an input whose dimensions the model leaves open.",
    )


def bucket_option() -> Decorator:
    """Return the option `--bucket`, repeatable."""
    return click.option(
        "--bucket",
        "buckets",
        multiple=True,
        type=BUCKET,
        help="Specialise code for these values of an open size; other values use general code.",
    )


def named_buckets(pairs: Sequence[tuple[str, tuple[int, ...]]]) -> Shapes:
    """Return the values of an option by name; the values of a repeated name are concatenated."""
    found: Shapes = {}
    for name, sizes in pairs:
        found[name] = (*found.get(name, ()), *sizes)
    return found


def pipeline_options() -> Decorator:
    """Return the options `--pipeline` and `--precision`."""

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
    """Return the option `--pipeline`."""
    return click.option(
        "--pipeline",
        default="default",
        show_default=True,
        help="A preset, or passes with options: simplify,fold_constants{max_growth=1.1},fuse.",
    )


def without_option() -> Decorator:
    """Return the option `--without RULE`, repeatable."""
    return click.option(
        "--without",
        multiple=True,
        metavar="RULE",
        help="Disable the rewrites of this rule; repeatable.",
    )


def tolerance_option() -> Decorator:
    """Return the option `--tolerance`; its default is the tolerance of the precision mode."""
    return click.option(
        "--tolerance",
        default=None,
        type=click.FloatRange(min=0),
        help="Error limit relative to an output's scale; default: the guarantee of --precision.",
    )


class ScheduleFile(click.ParamType):
    """An option that names a file with kernel schedules; the value is the parsed schedules."""

    name = "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the file; read at most one character more than the size limit.

        Errors: E-SCHEDULE-FILE, E-SCHEDULE-TEXT.
        """
        from compiler.schedule.language.sections import MOST_CHARACTERS, parse_sections

        try:
            with Path(value).open(encoding="utf-8-sig") as file:
                text = file.read(MOST_CHARACTERS + 1)
        except (OSError, ValueError) as e:
            raise CompileError("E-SCHEDULE-FILE", f"cannot read {value}: {e}") from e
        return parse_sections(text, str(value))


def schedule_option() -> Decorator:
    """Return the option `--schedule FILE`."""
    return click.option(
        "--schedule",
        "schedules",
        type=ScheduleFile(),
        default=None,
        help="Kernel schedules that replace the policies' schedules; format: --emit schedules.",
    )


def tier_option() -> Decorator:
    """Return the option `--tier`."""
    return click.option(
        "--tier",
        default=1,
        show_default=True,
        type=click.IntRange(0, 1),
        help="Tier of the first code; tier 0 is ready sooner, and tier 1 replaces it later.",
    )


UNITS = {
    "": 1, "B": 1,
    "KB": 1000, "MB": 1000**2, "GB": 1000**3,
    "KIB": 1024, "MIB": 1024**2, "GIB": 1024**3,
}  # fmt: skip
"""Bytes per unit of a memory limit."""


class Bytes(click.ParamType):
    """A number of bytes, such as `8MB`, `512KiB` or `100000`."""

    name = "BYTES"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse a number of bytes with an optional unit."""
        found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*([A-Za-z]*)\s*", str(value))
        if found is None or found[2].upper() not in UNITS:
            raise CompileError(
                "E-OPTION-VALUE",
                f"expected a number of bytes such as 8MB, 512KiB or 100000, got {value!r:.40}",
            )
        return int(Decimal(found[1]) * UNITS[found[2].upper()])


def memory_limit_option() -> Decorator:
    """Return the option `--memory-limit BYTES`."""
    return click.option(
        "--memory-limit",
        "memory_limit_bytes",
        type=Bytes(),
        default=None,
        help="Maximum arena size, as in 8MB; values are recomputed to stay within the limit.",
    )


def time_limit_option() -> Decorator:
    """Return the option `--time-limit SECONDS`."""
    return click.option(
        "--time-limit",
        "seconds",
        type=click.FloatRange(min=0),
        default=math.inf,
        help="Time limit in seconds for each of reading, compiling and running.",
    )


def order_option() -> Decorator:
    """Return the option `--order`."""
    return click.option(
        "--order",
        default="best",
        show_default=True,
        type=click.Choice(list(METHODS)),
        help="Method that orders the kernels to reduce peak memory.",
    )


def tuned_option() -> Decorator:
    """Return the options `--database FILE` and `--no-tuned`, which select tuned schedules."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        command = click.option(
            "--database",
            type=click.Path(path_type=Path, dir_okay=False),
            default=None,
            help="Database of tuned schedules, instead of the database in the user's cache.",
        )(command)
        return click.option("--tuned/--no-tuned", default=True, help="Use tuned schedules.")(
            command
        )

    return add


def tuned_schedules(tuned: bool, database: Path | None) -> bool | str:
    """Return the argument `tuned` of `compile` that these options select."""
    return str(database) if tuned and database is not None else tuned


def threads_option() -> Decorator:
    """Return the option `--threads`."""
    return click.option(
        "--threads",
        default=1,
        show_default=True,
        type=int,
        help="Number of threads of a run.",
    )


def spread_option() -> Decorator:
    """Return the option `--spread`."""
    return click.option(
        "--spread",
        default="loops",
        show_default=True,
        type=click.Choice(get_args(Spread)),
        help="Unit of parallel work: the loops of each kernel, or planned branches of the graph.",
    )


def random_weights_option() -> Decorator:
    """Return the option `--random-weights SEED`."""
    return click.option(
        "--random-weights",
        "weights_seed",
        type=int,
        default=None,
        metavar="SEED",
        help="Replace weights whose elements are all equal by random weights.",
    )


def named_shapes(pairs: Sequence[tuple[str, tuple[int, ...]]]) -> Shapes:
    """Return the shapes by name. Errors: E-OPTION-VALUE for a repeated name."""
    found: Shapes = {}
    for name, shape in pairs:
        if name in found:
            raise CompileError("E-OPTION-VALUE", f"--shape names the input {name!r} twice")
        found[name] = shape
    return found


def model_bytes(path: Path, weights_seed: int | None) -> bytes | Path:
    """Return the model to read: the path, or the bytes of the file with random weights.

    If the file does not exist, the path may name a sample; by default, a sample has the same
    weights as in the page. Errors: the errors of reading the file.
    """
    if not path.exists():
        path, weights_seed = _sample(path, weights_seed)
    if weights_seed is None:
        return path
    from compiler.frontend import load
    from compiler.frontend.random_weights import random_weights

    load(path)  # Errors in the file must be reported before weights are replaced.
    return random_weights(path, weights_seed)


def _sample(path: Path, weights_seed: int | None) -> tuple[Path, int | None]:
    """Return the file and the seed of the named sample; other paths are returned unchanged."""
    from app.samples import samples  # imports Flask, which commands without samples do not need

    found = samples().get(str(path))
    if found is None:
        return path, weights_seed
    return found.path, found.seed if weights_seed is None else weights_seed


def load_model(path: Path, weights_seed: int | None = None, limits: Limits = OWN_LIMITS) -> Graph:
    """Load the graph of a model file. Errors: E-MODEL-*, E-LIMIT-*."""
    from compiler.frontend import load

    return load(model_bytes(path, weights_seed), limits)


def cluster_options() -> Decorator:
    """Return the options that select the executor of jobs: `--engine`, `--scheduler`,
    `--insecure-scheduler`."""
    options = (
        click.option("--engine", type=click.Choice(["local", "dask"]),
                     help="Executor of jobs: supervisors of this program, or the workers of a Dask "
                          "cluster; default: local."),
        click.option("--scheduler", metavar="ADDRESS",
                     help="Scheduler of the Dask cluster: tls://HOST:PORT, or tcp://HOST:PORT on "
                          "this machine."),
        click.option("--insecure-scheduler", is_flag=True, default=None,
                     help="Permit a scheduler without TLS at a private address of a network."),
    )  # fmt: skip

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add
