"""Tracing: a Python function, called once with symbolic tensors, becomes a graph."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

import compiler.ops
from compiler.errors import CompileError, Where
from compiler.frontend.tracing.functions import current
from compiler.frontend.tracing.tensor import Tensor
from compiler.frontend.tracing.tracing import Tracing, TracingLimits, shown
from compiler.ir.graph import Graph
from compiler.ir.types import Type, parse_type

assert compiler.ops.__doc__, "importing the operators registers them"

_COMPILER = os.path.join(str(Path(__file__).resolve().parents[2]), "")


def model(
    fn: Callable[..., Any], /, *, limits: TracingLimits | None = None, **types: str | Type
) -> Graph:
    """Trace a function over symbolic tensors to a graph.

        def mlp(x: "f32[N,64]"):
            h = F.relu(x @ F.weight([64, 32], seed=1))
            return F.softmax(h, axis=-1)

        graph = compiler.model(mlp)

    The types of the parameters come from arguments or annotations. A parameter without a type takes
    its default value. The function returns a tensor, several tensors, or a dictionary of tensors by
    name.
    Errors: E-WRITE-*, and the errors of operators, each located at the line and column of the call.
    """
    tracing = Tracing(fn.__name__, limits)
    token = current.set(tracing)
    try:
        arguments = _arguments(fn, types, tracing)
        return tracing.graph(results_of(tracing, fn(**arguments)))
    except CompileError as e:
        if e.where.line:
            raise
        raise e.moved_to(_place(e, fn)) from e.__cause__
    finally:
        current.reset(token)


def results_of(tracing: Tracing, returned: Any) -> Mapping[str, Tensor]:
    """Convert a returned value to results by name. Errors: E-WRITE-VALUE."""
    if isinstance(returned, dict):
        listed = dict(returned)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    else:
        several = returned if isinstance(returned, tuple | list) else (returned,)
        if all(isinstance(t, Tensor) for t in several):
            return tracing.result_names(several)
        listed = dict(enumerate(several))
    for t in listed.values():
        if not isinstance(t, Tensor):
            raise CompileError("E-WRITE-VALUE", f"a model returns tensors, not {shown(t)}")
    for name in listed:
        if not isinstance(name, str) or not name:
            raise CompileError(
                "E-WRITE-VALUE", f"a result's name must be a string, not {shown(name)}"
            )
    return listed  # type: ignore[return-value]


def _arguments(
    fn: Callable[..., Any], types: Mapping[str, str | Type], tracing: Tracing
) -> dict[str, Tensor]:
    parameters = inspect.signature(fn).parameters
    for name in types:
        if name not in parameters:
            raise CompileError("E-INPUT-NAME", f"{fn.__name__} has no parameter {name!r}")
    made: dict[str, Tensor] = {}
    for name, p in parameters.items():
        t = types.get(name, None if p.annotation is p.empty else p.annotation)
        if isinstance(t, str):
            t = parse_type(t.strip("\"'"))
        if isinstance(t, Type):
            made[name] = tracing.input(name, t)
        elif p.default is p.empty:
            raise CompileError(
                "E-WRITE-VALUE",
                f"the parameter {name} of {fn.__name__} has no type",
                hint=f'give the parameter a type, such as {name}="f32[N,64]"',
            )
    return made


def _place(error: CompileError, fn: Callable[..., Any]) -> Where:
    """Return the source position, outside this folder, of the call that raised an error."""
    found = Where(source=os.path.basename(fn.__code__.co_filename))
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not os.path.abspath(code.co_filename).startswith(_COMPILER):
            found = _position(code, trace.tb_lasti)
        trace = trace.tb_next
    return found


def _position(code: CodeType, at: int) -> Where:
    source = os.path.basename(code.co_filename)
    line, end_line, column, end_column = list(code.co_positions())[at // 2]
    if line is None or column is None:
        return Where(source, line or 0)
    length = end_column - column if end_column and end_line == line else 1
    return Where(source, line, column + 1, max(length, 1))
