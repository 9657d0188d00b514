"""`--input`: inputs from files, for models that do not accept random inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import click
import numpy as np

from compilarium.options import Decorator
from compiler.errors import CompileError
from compiler.ir.graph import Graph


def input_option() -> Decorator:
    """Return the option `--input`, repeatable."""
    return click.option(
        "--input",
        "files",
        multiple=True,
        metavar="NAME=FILE.npy",
        help="File with the array of an input; repeatable.",
    )


def read_inputs(graph: Graph, files: Sequence[str]) -> dict[str, Any]:
    """Read inputs from `NAME=FILE` texts. Errors: E-OPTION-VALUE, E-INPUT-NAME, E-INPUT-FILE."""
    found: dict[str, Any] = {}
    names = {v.name for v in graph.inputs}
    for text in files:
        name, equals, path = text.partition("=")
        while equals and name not in names and "=" in path:
            # Names of inputs may contain "=".
            more, _, path = path.partition("=")
            name = f"{name}={more}"
        if not equals:
            raise CompileError("E-OPTION-VALUE", f"expected NAME=FILE.npy, got {text[:80]!r}")
        if name not in names:
            raise CompileError(
                "E-INPUT-NAME", f"no input is named {name!r}; inputs: {', '.join(names) or 'none'}"
            )
        found[name] = _read_array(Path(path))
    return found


def _read_array(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            found = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError, BadZipFile) as e:
        raise CompileError("E-INPUT-FILE", f"{path}: {e}") from e
    if not isinstance(found, np.ndarray):
        raise CompileError(
            "E-INPUT-FILE", f"{path}: expected one array, found an archive of arrays"
        )
    return found
