"""Attacks on the sandbox, one declaration each, and how they are judged.

An attack is a function whose source runs inside, without names of its module. Its parameter `given`
has addresses of things outside: see outside.py. The function returns if it succeeded, with a value
for the judge, and raises an exception if it was refused.
"""

from __future__ import annotations

import errno
import inspect
import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox import Limits, Result

OUTSIDE, OUTSIDE_AS_ROOT, UNFILTERED = "outside", "outside as root", "without filter"
"""Where the same code must succeed: in a plain process, or in a sandbox without the filter."""

SHORT = Limits(seconds=0.5)
MARK = "REPORT "

DEFAULT = Limits(seconds=5)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of an attack: the run, and what the attack reported, if it could."""

    result: Result
    told: Mapping[str, Any]

    def __str__(self) -> str:
        tail = self.result.stderr[-300:].decode(errors="replace")
        return f"{self.result.state} {self.result.code}, reported {dict(self.told)}, {tail}"


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides whether an attack was refused; `reads_report` if its report alone is enough."""

    agrees: Callable[[Outcome], bool]
    reads_report: bool = True


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack: its code, the judge of its end inside, and a check outside.

    `control` says where the same code succeeds, so that the judge can fail; None if it would do
    harm or is impossible everywhere. `outside` returns "" if the world outside is intact.
    """

    name: str
    words: str
    code: str
    held: Judge
    control: str | Limits | None
    limits: Limits
    outside: Callable[[Mapping[str, Any]], str] | None

    @property
    def is_alone(self) -> bool:
        """Return whether the attack needs a sandbox of its own."""
        return not self.held.reads_report or self.limits is not DEFAULT or self.outside is not None


ATTACKS: dict[str, Attack] = {}


def attack(
    held: Judge,
    *,
    control: str | Limits | None = None,
    limits: Limits | None = None,
    outside: Callable[[Mapping[str, Any]], str] | None = None,
    code: str = "",
) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Declare an attack; `code` is the source of a function that is in no file."""

    def declare(function: Callable[..., object]) -> Callable[..., object]:
        name = function.__name__
        words = (function.__doc__ or "").strip()
        assert name not in ATTACKS, f"two attacks have the name {name}"
        ATTACKS[name] = Attack(
            *(name, words, code or _source(function), held, control),
            *(limits or DEFAULT, outside),
        )
        return function

    return declare


def _source(function: Callable[..., object]) -> str:
    """Return the source of a function without its decorators."""
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("def "))
    return "\n".join(lines[start:])


def program(attacks: Sequence[Attack], given: Mapping[str, Any]) -> str:
    """Return the program that runs inside: the attacks, each with a report.

    Several attacks run in a forked process each, and what they leave is removed.
    """
    codes = [_reporting(attack, given) for attack in attacks]
    return codes[0] if len(codes) == 1 else _BATCH.format(codes=codes)


_REPORTING = """
import json, os
{code}
try:
    found = {{"done": {name}({given!r})}}
except BaseException as e:
    found = {{"refused": type(e).__name__, "errno": getattr(e, "errno", None), "words": str(e)}}
os.write(1, ({mark!r} + json.dumps([{name!r}, found], default=repr) + "\\n").encode())
"""

_BATCH = """
import os, shutil
for code in {codes!r}:
    pid = os.fork()
    if not pid:
        try:
            exec(compile(code, "attack", "exec"), {{}})
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    for folder in ("/box", "/dev/shm"):
        for left in os.listdir(folder) if os.path.exists("/box") else ():
            path = os.path.join(folder, left)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)
"""


def given_to(attack: Attack, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what an attack is given; several attacks at once mark their processes differently."""
    return {**given, "mark": f"{given['mark']}-{attack.name}"}


def _reporting(attack: Attack, given: Mapping[str, Any]) -> str:
    own = given_to(attack, given)
    return _REPORTING.format(code=attack.code, name=attack.name, given=own, mark=MARK)


def told(stdout: bytes) -> Mapping[str, Mapping[str, Any]]:
    """Return the reports by the names of the attacks; other output may precede a report."""
    lines = stdout.decode(errors="replace").splitlines()
    found = (line.partition(MARK) for line in lines)
    return dict(json.loads(report) for _, mark, report in found if mark)


def refused(*names: str) -> Judge:
    """Judge: a system call failed with one of these errors."""
    numbers = {getattr(errno, name) for name in names}
    return Judge(lambda outcome: "refused" in outcome.told and outcome.told["errno"] in numbers)


def raised(*names: str) -> Judge:
    """Judge: the attack ended with one of these exceptions."""
    return Judge(lambda outcome: outcome.told.get("refused") in names)


def gives(value: object) -> Judge:
    """Judge: the attack finished and returned this value, which is harmless."""
    return Judge(lambda outcome: outcome.told.get("done", ...) == value)


def ends(*states: str) -> Judge:
    """Judge: the supervisor gives this state to the run, and the attack did not finish."""
    return Judge(
        lambda outcome: outcome.result.state in states and "done" not in outcome.told,
        reads_report=False,
    )


def either(*judges: Judge) -> Judge:
    """Judge: one of the judges agrees."""
    return Judge(
        lambda outcome: any(judge.agrees(outcome) for judge in judges),
        all(judge.reads_report for judge in judges),
    )
