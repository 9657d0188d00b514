"""The text form of task graphs: printed text parses to an equal task graph.

    tasks fork {
      given x: 4096 bytes
      weight w: 1024 bytes
      h: 2048 bytes = a(x, w) as conv+relu, 2000 flops, 5000 read, 2048 written <- Conv_0
      y: 2048 bytes = b(h), cpu 0.002 s, gpu 0.001 s
      return y
    }

Each line with `=` describes one task: its results, its name, its operands, then its costs, times
and origins.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import NoReturn

from compiler.errors import CompileError, Where
from compiler.ir.operator import Cost
from compiler.ir.text import quote
from compiler.place.tasks import Datum, Task, TaskGraph

MOST_TASKS = 100_000


def print_tasks(g: TaskGraph) -> str:
    """Print tasks as text."""
    return "\n".join(_lines(g))


def _lines(g: TaskGraph) -> Iterator[str]:
    yield f"tasks {quote(g.name)} {{"
    waiting = list(g.data[::-1])

    def given(until: int) -> Iterator[str]:
        """Yield the lines of all inputs listed before the results of task number `until`."""
        while waiting and g.maker.get(waiting[-1].name, -1) < until:
            d = waiting.pop()
            if d.name not in g.maker:
                yield f"  {'weight' if d.is_weight else 'given'} {_datum(d)}"

    for number, t in enumerate(g.tasks):
        yield from given(number)
        made = ", ".join(_datum(g.datum[m]) for m in t.makes)
        reads = ", ".join(map(quote, t.reads))
        parts = [f"{quote(t.name)}({reads})", *_facts(t)]
        if t.operators:
            parts[0] += f" as {'+'.join(map(quote, t.operators))}"
        origins = f" <- {', '.join(map(quote, t.origins))}" if t.origins else ""
        yield f"  {f'{made} = ' if made else ''}{', '.join(parts)}{origins}"
    yield from given(len(g.tasks))
    results = [quote(d.name) for d in g.data if d.is_result]
    if results:
        yield f"  return {', '.join(results)}"
    yield "}"


def _datum(d: Datum) -> str:
    return f"{quote(d.name)}: {d.nbytes} bytes"


def _facts(t: Task) -> Iterator[str]:
    for word in COUNTS:
        number = getattr(t.cost, COUNTS[word])
        if number:
            yield f"{number} {word}"
    for device, seconds in t.seconds.items():
        yield f"{quote(device)} {seconds!r} s"


COUNTS = {"flops": "flops", "read": "bytes_read", "written": "bytes_written"}

_TOKEN = re.compile(
    r'\s*(?:(?P<name>"(?:[^"\\\n]|\\.)*"|[A-Za-z0-9_][A-Za-z0-9_./\-+]*)|(?P<punctuation><-|[{}():,=]))'
)
_COUNT = re.compile(r"\d{1,40}")
_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:e[-+]?\d+)?")


def parse_tasks(text: str, source: str = "") -> TaskGraph:
    """Parse the text of a task graph. Errors: E-TASKS-TEXT with the line."""
    return _Reader(text, source).tasks()


class _Reader:
    """A parser of a text with one statement per line."""

    def __init__(self, text: str, source: str) -> None:
        self.lines = [(n, x.strip()) for n, x in enumerate(text.splitlines(), 1) if x.strip()]
        self.source = source
        self.line, self.tokens = 1, list[str]()
        self.data: dict[str, Datum] = {}
        self.used: set[str] = set()
        self.made: list[Task] = []

    def tasks(self) -> TaskGraph:
        name, ended = "", False
        for number, (at, line) in enumerate(self.lines):
            self.line = at
            if number > MOST_TASKS:
                self.fail("too many tasks")
            self.tokens = self.split(line)
            if number == 0:
                name = self.header()
            elif self.tokens == ["}"]:
                ended = True
                self.tokens = []
            elif ended:
                self.fail("there is text after the end")
            else:
                self.statement()
            if self.tokens:
                self.fail(f"unexpected {self.tokens[0]!r}")
        if not ended:
            self.fail("expected `}` at the end")
        return TaskGraph(name, tuple(self.made), tuple(self.data.values()))

    def split(self, line: str) -> list[str]:
        found, at = list[str](), 0
        while at < len(line):
            match = _TOKEN.match(line, at)
            if match is None:
                self.fail(f"cannot read {line[at:]!r:.40}")
            found.append(match["name"] or match["punctuation"])
            at = match.end()
        return found

    def header(self) -> str:
        self.word("tasks")
        name = self.name()
        self.word("{")
        return name

    def statement(self) -> None:
        first, following = self.tokens[0], self.tokens[1:2]
        if first in ("given", "weight") and following not in ([":"], ["("]):
            self.tokens.pop(0)
            self.datum(is_weight=first == "weight")
        elif first == "return" and following not in ([":"], ["("]):
            self.tokens.pop(0)
            for name in self.names():
                d = self.known(name)
                self.data[name] = Datum(d.name, d.nbytes, d.is_weight, True)
        else:
            self.task()

    def task(self) -> None:
        makes: list[str] = []
        while self.tokens[1:2] == [":"]:
            makes.append(self.datum(is_weight=False))
            self.word("," if self.tokens[:1] == [","] else "=")
        name = self.name()
        if name in self.used:
            self.fail(f"the task {name!r} is already defined")
        self.used.add(name)
        self.word("(")
        reads = self.names() if self.tokens[:1] != [")"] else []
        self.word(")")
        for r in reads:
            if r in makes:
                self.fail(f"{name!r} reads its own result {r!r}")
            self.known(r)
        operators = self.operators()
        counts, seconds = self.facts()
        origins = self.names() if self.taken("<-") else []
        cost = Cost(**{COUNTS[k]: n for k, n in counts.items()})
        given = (tuple(reads), tuple(makes), cost, seconds, tuple(origins))
        self.made.append(Task(name, operators, *given))

    def operators(self) -> tuple[str, ...]:
        return tuple(self.name().split("+")) if self.taken("as") else ()

    def facts(self) -> tuple[dict[str, int], dict[str, float]]:
        counts: dict[str, int] = {}
        seconds: dict[str, float] = {}
        while self.taken(","):
            first = self.name()
            if self.tokens and self.tokens[0] in COUNTS and _COUNT.fullmatch(first):
                counts[self.tokens.pop(0)] = int(first)
            else:
                seconds[first] = self.number()
                self.word("s")
        return counts, seconds

    def datum(self, is_weight: bool) -> str:
        name = self.name()
        if name in self.data:
            self.fail(f"{name!r} is already defined")
        self.word(":")
        n = self.name()
        if not _COUNT.fullmatch(n):
            self.fail(f"expected a number of bytes, got {n!r:.40}")
        self.word("bytes")
        self.data[name] = Datum(name, int(n), is_weight)
        return name

    def known(self, name: str) -> Datum:
        if name not in self.data:
            self.fail(f"{name!r} is not defined before its use")
        return self.data[name]

    def names(self) -> list[str]:
        found = [self.name()]
        while self.taken(","):
            found.append(self.name())
        return found

    def name(self) -> str:
        token = self.tokens.pop(0) if self.tokens else ""
        if not token or token in {"{", "}", "(", ")", ":", ",", "=", "<-"}:
            self.fail(f"expected a name, got {token or 'the end of the line'!r}")
        try:
            return json.loads(token) if token.startswith('"') else token
        except ValueError:
            self.fail(f"{token:.40} is not a JSON string")

    def number(self) -> float:
        token = self.name()
        if not _NUMBER.fullmatch(token) or float(token) == math.inf:
            self.fail(f"expected a number of seconds, got {token!r:.40}")
        return float(token)

    def taken(self, token: str) -> bool:
        if self.tokens[:1] == [token]:
            self.tokens.pop(0)
            return True
        return False

    def word(self, token: str) -> None:
        if not self.taken(token):
            found = self.tokens[0] if self.tokens else "the end of the line"
            self.fail(f"expected {token!r}, got {found!r:.40}")

    def fail(self, message: str) -> NoReturn:
        raise CompileError("E-TASKS-TEXT", message, where=Where(self.source, self.line, 1))
