"""The standard library's dataclasses, with methods generated at their first call.

`dataclasses.dataclass` compiles the text of each method when the class is defined. A process that
compiles one model defines about 300 classes, but calls only some of their methods. Generating all
methods took 10 % of the time until the program was ready. Fields, `replace`, `asdict` and patterns
work as in the standard library.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, FrozenInstanceError
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, weakref_slot=False):
        """Act as `dataclasses.dataclass`; retain the methods that the class itself defines."""

        def wrap(cls: type) -> type:
            own = set(vars(cls))
            made = dataclasses.dataclass(
                cls, init=False, repr=False, eq=False, slots=slots, weakref_slot=weakref_slot
            )
            for name, method in _methods(made, frozen, slots, eq):
                if name not in own or (name == "__hash__" and vars(cls)[name] is None):
                    setattr(made, name, method)
            return made

        return wrap if cls is None else wrap(cls)


def _methods(cls: type, frozen: bool, slots: bool, eq: bool) -> Iterable[tuple[str, Any]]:
    yield "__init__", _written_when_called(cls, "__init__", lambda: _init(cls, frozen, slots))
    yield "__repr__", _repr
    if eq:
        yield "__eq__", _written_when_called(cls, "__eq__", lambda: _eq(cls))
        hashed = _written_when_called(cls, "__hash__", lambda: _hash(cls)) if frozen else None
        yield "__hash__", hashed
    if frozen:
        yield "__setattr__", _refused_set
        yield "__delattr__", _refused_delete
        if slots:  # the default methods assign fields, which a frozen class refuses
            yield "__getstate__", _state
            yield "__setstate__", _set_state


def _written_when_called(cls: type, name: str, write: Callable[[], Any]) -> Callable[..., Any]:
    """Return a method that replaces itself by the generated method at its first call."""

    def method(*given: Any, **named: Any) -> Any:
        written = write()
        setattr(cls, name, written)
        return written(*given, **named)

    return method


def _init(cls: type, frozen: bool, slots: bool) -> Any:
    names: dict[str, Any] = {"__missing__": MISSING, "__set__": object.__setattr__}
    parameters = ["self"]
    lines: list[str] = []
    for f in dataclasses.fields(cls):
        value = f.name
        if f.default_factory is not MISSING:
            names[f"__make_{f.name}__"] = f.default_factory
            value = f"__make_{f.name}__()"
            if f.init:
                value = f"{value} if {f.name} is __missing__ else {f.name}"
                parameters.append(f"{f.name}=__missing__")
        elif f.default is not MISSING:
            names[f"__default_{f.name}__"] = f.default
            value = f.name if f.init else f"__default_{f.name}__"
            if f.init:
                parameters.append(f"{f.name}=__default_{f.name}__")
        elif f.init:
            parameters.append(f.name)
        else:
            continue
        if not frozen:
            lines.append(f"self.{f.name} = {value}")
        elif slots:
            names[f"__set_{f.name}__"] = getattr(cls, f.name).__set__
            lines.append(f"__set_{f.name}__(self, {value})")
        else:
            lines.append(f"__set__(self, {f.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    return _function(cls, "__init__", parameters, lines or ["pass"], names)


def _eq(cls: type) -> Any:
    compared = [f.name for f in dataclasses.fields(cls) if f.compare]
    ours, theirs = _tuple("self", compared), _tuple("other", compared)
    lines = [
        "if other.__class__ is not self.__class__:",
        "    return NotImplemented",
        f"return {ours} == {theirs}",
    ]
    return _function(cls, "__eq__", ["self", "other"], lines, {})


def _hash(cls: type) -> Any:
    hashed = [f.name for f in dataclasses.fields(cls) if (f.compare if f.hash is None else f.hash)]
    return _function(cls, "__hash__", ["self"], [f"return hash({_tuple('self', hashed)})"], {})


def _tuple(owner: str, names: Sequence[str]) -> str:
    return f"({''.join(f'{owner}.{n}, ' for n in names)})"


def _function(
    cls: type, name: str, parameters: Sequence[str], lines: Sequence[str], names: dict[str, Any]
) -> Any:
    body = "\n    ".join(lines)
    exec(f"def {name}({', '.join(parameters)}):\n    {body}", names)
    made = names[name]
    made.__qualname__ = f"{cls.__qualname__}.{name}"
    return made


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refused_set(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refused_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for f, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)
