"""Platforms as TOML: built-in files, files of users, and the printed form.

name = "accelerator"
words = "..."
home = "ram"

[[memory]]
name = "ram"

[[device]]
name = "cpu"
memory = "ram"
flops_per_second = 2e11
bytes_per_second = 2e10
seconds_per_kernel = 1e-6
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from compiler.passes.engine.cost import Roofline
from compiler.place.platform import Device, Link, Memory, Platform

FOLDER = Path(__file__).parent / "platforms"
MOST_CHARACTERS = 1_000_000
MOST_DEVICES = 64
LEAST, MOST = 1e-15, 1e30
"""Bounds of speeds and times; they keep sums and ratios finite."""

_LINE = re.compile(r" \(at line (\d+), column (\d+)\)$")


def shipped() -> tuple[str, ...]:
    """Return the names of the built-in platforms."""
    return tuple(sorted(p.stem for p in FOLDER.glob("*.toml")))


def load_platform(name: str | Path) -> Platform:
    """Load a platform by name or from a file. Errors: E-PLATFORM-FILE, E-PLATFORM-TEXT."""
    path = FOLDER / f"{name}.toml" if str(name) in shipped() else Path(name)
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MOST_CHARACTERS + 1)
    except (OSError, ValueError) as e:
        raise CompileError(
            "E-PLATFORM-FILE",
            f"{str(name)!r:.80} is neither a built-in platform nor a readable file: {e}",
            hint=f"name one of {', '.join(shipped())}, or a TOML file",
        ) from e
    return parse_platform(text, path.name)


def parse_platform(text: str, source: str = "") -> Platform:
    """Parse the text of a platform, and check its consistency.

    Errors: E-PLATFORM-TEXT if the text is not TOML, incomplete or contradictory.
    """
    where = Where(source)
    if len(text) > MOST_CHARACTERS:
        words = f"the text exceeds the limit of {MOST_CHARACTERS:,} characters"
        raise CompileError("E-PLATFORM-TEXT", words, where=where)
    try:
        table = _Table(tomllib.loads(text), "the platform", where)
    except (ValueError, RecursionError) as e:  # ValueError includes numbers with too many digits.
        raise CompileError(
            "E-PLATFORM-TEXT", f"the text is not TOML: {e}", where=_where(str(e), source)
        ) from e
    made = Platform(
        table.text("name"),
        table.text("words", ""),
        table.text("home"),
        tuple(_memory(t) for t in table.tables("memory")),
        tuple(_device(t) for t in table.tables("device")),
        tuple(_link(t) for t in table.tables("link")),
    )
    table.finish()
    _check(made, where)
    return made


def _where(message: str, source: str) -> Where:
    """Return the position that the TOML parser states at the end of its message."""
    at = _LINE.search(message)
    return Where(source, int(at[1]), int(at[2])) if at else Where(source)


def _memory(t: _Table) -> Memory:
    return t.finish(
        Memory(
            t.text("name"),
            t.whole("nbytes", None),
            t.flag("keeps_weights", True),
            t.number("handover_seconds", 0.0, least=0.0),
        )
    )


def _device(t: _Table) -> Device:
    speed = Roofline(
        t.number("flops_per_second"),
        t.number("bytes_per_second"),
        t.number("seconds_per_kernel", 0.0, least=0.0),
    )
    operators = t.texts("operators", None)
    has = None if operators is None else frozenset(operators)
    return t.finish(Device(t.text("name"), t.text("memory"), speed, has))


def _link(t: _Table) -> Link:
    return t.finish(
        Link(
            t.text("name"),
            tuple(t.texts("joins", ()) or ()),
            t.number("latency_seconds", 0.0, least=0.0),
            t.number("bytes_per_second"),
            t.whole("channels", 1) or 1,
        )
    )


def _check(p: Platform, where: Where) -> None:
    def need(holds: bool, message: str, hint: str = "") -> None:
        if not holds:
            raise CompileError("E-PLATFORM-TEXT", message, where=where, hint=hint)

    need(1 <= len(p.devices) <= MOST_DEVICES,
         f"expected 1 to {MOST_DEVICES} devices, got {len(p.devices)}",
         "list each device as a [[device]]")  # fmt: skip
    for kind, named in (("memory", p.memories), ("device", p.devices), ("link", p.links)):
        names = [x.name for x in named]
        twice = sorted({n for n in names if names.count(n) > 1})
        need(not twice, f"{kind} {', '.join(twice)} is listed twice", "give each a distinct name")
    memories = p.memory_of
    need(p.home in memories, f"the home {p.home!r} is not a memory", "list memories as [[memory]]")
    for d in p.devices:
        need(d.memory in memories, f"device {d.name} is at {d.memory!r}, which is not a memory",
             "list memories as [[memory]]")  # fmt: skip
    for link in p.links:
        need(len(set(link.joins)) >= 2, f"link {link.name} must join at least two memories",
             "list distinct memories, as in joins = [\"ram\", \"vram\"]")  # fmt: skip
        unknown = [m for m in link.joins if m not in memories]
        need(not unknown, f"link {link.name} joins {', '.join(unknown)}, which is not a memory",
             "list memories as [[memory]]")  # fmt: skip
    for d in p.devices:
        ways = ((p.home, d.memory), (d.memory, p.home))
        need(all(w in p.routes for w in ways), f"no links connect {p.home} with {d.name}",
             "add a [[link]]")  # fmt: skip
    able = [d for d in p.devices if d.operators is None and memories[d.memory].nbytes is None]
    need(bool(able), "no device has all operators and unlimited memory",
         "omit `operators` from one device, and `nbytes` from its memory")  # fmt: skip


@dataclass(slots=True)
class _Table:
    """A TOML table that reports missing keys; `finish` reports unknown keys."""

    data: dict[str, Any]
    what: str
    where: Where
    known: list[str] = field(default_factory=list)
    """The keys that were read."""

    def text(self, key: str, default: str | None = None) -> str:
        return self._take(key, default, "a string", lambda v: isinstance(v, str) and v.strip() == v)

    def texts(self, key: str, default: Sequence[str] | None) -> Sequence[str] | None:
        def are(v: Any) -> bool:
            return isinstance(v, list) and all(isinstance(x, str) for x in v)

        return self._take(key, default, "a list of strings", are, required=False)

    def whole(self, key: str, default: int | None) -> int | None:
        def fits(v: Any) -> bool:
            return isinstance(v, int) and not isinstance(v, bool) and 0 < v < 1 << 62

        return self._take(key, default, "a positive integer", fits, required=False)

    def flag(self, key: str, default: bool) -> bool:
        return self._take(key, default, "true or false", lambda v: isinstance(v, bool))

    def number(self, key: str, default: float | None = None, least: float = LEAST) -> float:
        def fits(v: Any) -> bool:
            return isinstance(v, int | float) and not isinstance(v, bool) and least <= v <= MOST

        return float(self._take(key, default, f"a number from {least:g} to {MOST:g}", fits))

    def tables(self, key: str) -> list[_Table]:
        self.known.append(key)
        found = self.data.pop(key, [])
        if not isinstance(found, list) or not all(isinstance(t, dict) for t in found):
            self._fail(f"{key} must be an array of tables", f"write [[{key}]] before each table")
        return [_Table(dict(t), f"{key} {t.get('name', '')!r}", self.where) for t in found]

    def finish(self, made: Any = None) -> Any:
        if self.data:
            unknown = ", ".join(f"{k!r:.40}" for k in self.data)
            self._fail(
                f"{self.what} has unknown keys: {unknown}",
                f"valid keys: {', '.join(self.known)}; keys after a table belong to that table",
            )
        return made

    def _take(
        self,
        key: str,
        default: Any,
        words: str,
        fits: Callable[[Any], bool],
        required: bool = True,
    ) -> Any:
        self.known.append(key)
        if key not in self.data:
            if required and default is None:
                self._fail(f"{self.what} needs {key}, {words}")
            return default
        value = self.data.pop(key)
        if not fits(value):
            self._fail(f"{self.what}: expected {words} as {key}, got {_shown(value)}")
        return value

    def _fail(self, message: str, hint: str = "") -> None:
        raise CompileError("E-PLATFORM-TEXT", message, where=self.where, hint=hint)


def _shown(value: Any) -> str:
    try:
        return f"{value!r:.40}"
    except ValueError:  # The number has more digits than Python prints.
        return "a number with thousands of digits"


def print_platform(p: Platform) -> str:
    """Return the text of a platform, which parses to an equal platform."""
    return "\n".join(_lines(p)) + "\n"


def _lines(p: Platform) -> Iterator[str]:
    yield from _pairs({"name": p.name, "words": p.words, "home": p.home})
    for m in p.memories:
        yield from ("", "[[memory]]")
        row = {"name": m.name, "nbytes": m.nbytes, "handover_seconds": m.handover_seconds or None}
        yield from _pairs({**row, "keeps_weights": None if m.keeps_weights else False})
    for d in p.devices:
        yield from ("", "[[device]]")
        yield from _pairs({"name": d.name, "memory": d.memory, **_speeds(d.speed)})
        if d.operators is not None:
            yield from _pairs({"operators": sorted(d.operators)})
    for link in p.links:
        yield from ("", "[[link]]")
        row = {"name": link.name, "joins": list(link.joins), "channels": link.channels}
        speeds = {k: getattr(link, k) for k in ("latency_seconds", "bytes_per_second")}
        yield from _pairs({**row, **speeds})


def _speeds(r: Roofline) -> dict[str, float]:
    return {
        k: getattr(r, k) for k in ("flops_per_second", "bytes_per_second", "seconds_per_kernel")
    }


def _pairs(row: Mapping[str, Any]) -> Iterator[str]:
    for key, value in row.items():
        if value is not None:
            # JSON strings, numbers, lists and booleans are valid TOML, except for the character
            # DEL.
            text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
            yield f"{key} = {text}"
