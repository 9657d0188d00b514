"""Reading and writing of the TOML in lessons, with errors at their lines, and typed tables."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where

_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_REQUIRED: Any = object()


@dataclass(frozen=True, slots=True)
class Table:
    """A table with typed access; each error has the code, the file, the first line and a path."""

    values: Mapping[str, Any]
    where: Where
    code: str = "E-LESSON-BLOCK"
    path: str = ""

    def fail(self, message: str, hint: str = "") -> CompileError:
        """Return an error about this table."""
        place = f"{self.path}: " if self.path else ""
        return CompileError(self.code, place + message, where=self.where, hint=hint)

    def only(self, *names: str) -> Table:
        """Return this table, if it has no other keys. Errors: the code of the table."""
        for name in self.values:
            if name not in names:
                raise self.fail(f"the key {name!r:.40} is unknown; keys: {', '.join(names)}")
        return self

    def _get(self, name: str, kind: type | tuple[type, ...], words: str, default: Any) -> Any:
        if name not in self.values:
            if default is _REQUIRED:
                raise self.fail(f"the key {name!r} is missing; it is {words}")
            return default
        value = self.values[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.fail(f"{name} must be {words}, got {value!r:.60}")
        return value

    def text(self, name: str, default: str = _REQUIRED) -> str:
        """Return a text; without a default, the text is required and not empty."""
        found = self._get(name, str, "a text", default)
        if default is _REQUIRED and not found.strip():
            raise self.fail(f"{name} must be a text that is not empty")
        return found

    def integer(self, name: str, default: int = _REQUIRED) -> int:
        """Return an integer."""
        return self._get(name, int, "an integer", default)

    def number(self, name: str, default: float = _REQUIRED) -> float:
        """Return an integer or a float."""
        return self._get(name, (int, float), "a number", default)

    def truth(self, name: str, default: bool = _REQUIRED) -> bool:
        """Return true or false."""
        return self._get(name, bool, "true or false", default)

    def texts(self, name: str, default: Sequence[str] = _REQUIRED) -> tuple[str, ...]:
        """Return a list of texts."""
        found = self._get(name, (list, tuple), "a list of texts", default)
        if not all(isinstance(x, str) for x in found):
            raise self.fail(f"{name} must be a list of texts, got {found!r:.60}")
        return tuple(found)

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a list of integers."""
        found = self._get(name, (list, tuple), "a list of integers", _REQUIRED)
        if not all(isinstance(v, int) and not isinstance(v, bool) for v in found):
            raise self.fail(f"{name} must be a list of integers, got {found!r:.60}")
        return tuple(found)

    def table(self, name: str, default: Mapping[str, Any] = _REQUIRED) -> Table:
        """Return an inner table."""
        found = self._get(name, Mapping, "a table", default)
        return Table(found, self.where, self.code, f"{self.path}.{name}".lstrip("."))

    def tables(self, name: str, default: Sequence[Any] = _REQUIRED) -> tuple[Table, ...]:
        """Return a list of tables."""
        found = self._get(name, (list, tuple), "a list of tables", default)
        if not all(isinstance(x, Mapping) for x in found):
            raise self.fail(f"{name} must be a list of tables, got {found!r:.60}")
        paths = (f"{self.path}.{name}[{i}]".lstrip(".") for i in range(len(found)))
        return tuple(
            Table(x, self.where, self.code, path) for x, path in zip(found, paths, strict=True)
        )

    def each(self, name: str) -> Mapping[str, Table]:
        """Return the inner tables of a table by name; empty if the table is absent."""
        outer = self.table(name, {})
        return {key: outer.table(key) for key in outer.values}


def read_toml(text: str, where: Where, code: str = "E-LESSON-BLOCK") -> Table:
    """Parse TOML whose first line is at `where`. Errors: `code`, at the line of the error."""
    try:
        return Table(tomllib.loads(text), where, code)
    except RecursionError:
        raise CompileError(code, "the tables are nested too deeply", where=where) from None
    except ValueError as e:  # Includes TOMLDecodeError, and integers with too many digits.
        found = _PLACE.search(str(e))
        line, column = (int(found[1]), int(found[2])) if found else (1, 1)
        message = _PLACE.sub("", str(e)).strip()
        place = Where(where.source, where.line + line - 1, column)
        raise CompileError(code, f"the TOML cannot be read: {message}", where=place) from None


def write_toml(values: Mapping[str, Any], path: str = "") -> str:
    """Write values, then inner tables, in their order."""
    plain = {k: v for k, v in values.items() if not isinstance(v, Mapping)}
    lines = [f"{_key(k)} = {_value(v)}\n" for k, v in plain.items()]
    for name, inner in values.items():
        if isinstance(inner, Mapping):
            inner_path = f"{path}.{_key(name)}".lstrip(".")
            lines.append(f"\n[{inner_path}]\n{write_toml(inner, inner_path)}")
    return "".join(lines)


def _key(name: str) -> str:
    return name if _BARE.match(name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)
