"""The schema of an operator: operands and attributes, read from the signature of its type rule."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError, require
from compiler.ir.types import DType


@dataclass(frozen=True)
class Schema:
    """Operands and attributes of an operator, read from the signature of its type rule."""

    operands: tuple[str, ...]
    n_required: int
    variadic: bool
    attributes: Mapping[str, inspect.Parameter]
    rule: Callable[..., Any]

    @staticmethod
    def of(rule: Callable[..., Any]) -> Schema:
        """Read the schema from a signature."""
        parameters = inspect.signature(rule).parameters.values()
        positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        rest = [p for p in parameters if p.kind is p.VAR_POSITIONAL]
        return Schema(
            tuple(p.name for p in [*positional, *rest]),
            sum(p.default is p.empty for p in positional),
            bool(rest),
            {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY},
            rule,
        )

    @cached_property
    def kinds(self) -> Mapping[str, Any]:
        """The annotated Python type of each attribute, evaluated lazily."""
        return get_type_hints(self.rule)

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        return {k: p.default for k, p in self.attributes.items()}

    def bind(self, op_name: str, attrs: Mapping[str, Any]) -> dict[str, Any]:
        """See Operator.bind."""
        for name in attrs:
            if name not in self.attributes:
                known = ", ".join(self.attributes) or "none"
                message = f"{op_name} has no attribute {name!r}; attributes: {known}"
                raise CompileError("E-OP-ATTRIBUTE", message)
        bound = {}
        for name, default in self._defaults.items():
            value = attrs.get(name, default)
            require(
                value is not inspect.Parameter.empty,
                "E-OP-ATTRIBUTE",
                f"{op_name} needs the attribute {name!r}",
            )
            bound[name] = self.value(op_name, name, value)
        return bound

    def value(self, op_name: str, name: str, value: Any) -> Any:
        """Normalise an attribute's value. Errors: E-OP-ATTRIBUTE for another kind."""
        return _normalise(op_name, name, value, self.kinds.get(name))

    def check_operands(self, op_name: str, operands: Sequence[Any]) -> None:
        """Check the number of operands, and that no required operand is missing.

        Errors: E-OP-OPERANDS.
        """
        n = len(operands)
        fits = n >= self.n_required and (self.variadic or n <= len(self.operands))
        require(
            fits and all(o is not None for o in operands[: self.n_required]),
            "E-OP-OPERANDS",
            f"{op_name} takes ({', '.join(self.operands)}), got {n} operands",
        )


def _normalise(op_name: str, name: str, value: Any, kind: Any) -> Any:
    """Convert lists to tuples, numpy numbers to Python numbers, and integers to floats."""
    if isinstance(value, list | tuple | np.ndarray):
        made = tuple(_normalise(op_name, name, v, None) for v in value)  # type: ignore[arg-type]
        element = get_args(kind)[0] if get_origin(kind) is tuple else None
        if kind in _NO_LISTS or (element in _NO_LISTS and not all(_is(v, element) for v in made)):
            raise _wrong_kind(op_name, name, value, kind)
        return made
    if isinstance(value, np.generic):
        value = value.item()
    if kind is float and isinstance(value, int):
        value = float(value)
    wrong = (
        (kind is int and (not isinstance(value, int) or isinstance(value, bool)))
        or (kind is float and not isinstance(value, float))
        or (kind is bool and not isinstance(value, bool))
        or (kind is str and not isinstance(value, str))
        or (kind is DType and not isinstance(value, DType))
        or get_origin(kind) is tuple
    )
    if wrong:
        raise _wrong_kind(op_name, name, value, kind)
    return value


_NO_LISTS = (int, float, bool, str, DType)


def _is(value: Any, kind: Any) -> bool:
    """Return whether an element of a list has this kind; integers are also valid floats."""
    if isinstance(value, bool) and kind is not bool:
        return False
    return isinstance(value, int | float) if kind is float else isinstance(value, kind)


def _wrong_kind(op_name: str, name: str, value: Any, kind: Any) -> CompileError:
    element = get_args(kind)[0].__name__ if get_origin(kind) is tuple else ""
    needed = f"a list of {element}" if element else getattr(kind, "__name__", str(kind))
    return CompileError("E-OP-ATTRIBUTE", f"{op_name} needs {name} as {needed}, got {value!r:.60}")
