"""The self-test: every assertion about a sandbox of this machine, in about a second.

`examine` checks the probes inside a new process and inside a joined child. It checks from outside
that time and output are limited, and that no process survives.
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from sandbox.availability import Layer, facts, obstacles, optional_layers
from sandbox.fresh import run
from sandbox.join import call
from sandbox.limits import Limits
from sandbox.probes import PROBES, REPORT, main
from sandbox.result import SandboxError

Way = Literal["fresh", "joined", "outside"]
"""The way into the sandbox: a new process, a joined child, or a check from outside."""

LIMITS = Limits(seconds=20, cpu_seconds=20, n_processes=40)
"""Limits of the probes: few processes, so that the limit is reached quickly."""

UNTOLD = "the process ended before"
"""The beginning of the finding for a probe that did not run, for instance for lack of time."""

_SHORT_S, _LONGEST_S = 0.3, 5.0
_OUTPUT_BYTES = 1 << 16
_IMPORTS = ("numpy_works", "machine_code_works")
"""Probes that only the new process runs: in a joined child, the parent has done the imports."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An assertion with its result: what was found, empty if it holds, and the remedy."""

    name: str
    way: Way
    claim: str
    found: str
    fix: str

    @property
    def ok(self) -> bool:
        """Return whether the assertion holds."""
        return not self.found


@dataclass(frozen=True, slots=True)
class Report:
    """The result of the self-test.

    If the sandbox cannot be built, `obstacle` is the reason, `fix` is the remedy, and there are no
    findings.
    """

    obstacle: str
    fix: str
    findings: tuple[Finding, ...]
    layers: tuple[Layer, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Return whether untrusted code may run on this machine."""
        return not self.obstacle and all(finding.ok for finding in self.findings)

    def to_json(self) -> Mapping[str, Any]:
        """Return the report as data."""
        findings = [{**asdict(f), "ok": f.ok} for f in self.findings]
        return {
            "ok": self.ok,
            "obstacle": self.obstacle,
            "fix": self.fix,
            "findings": findings,
            "layers": [asdict(layer) for layer in self.layers],
            "seconds": self.seconds,
        }


def examine() -> Report:
    """Run the self-test. The caller should have no other threads."""
    start_s = time.monotonic()
    layers = tuple(optional_layers())
    first = next(obstacles(facts()), None)
    found: Sequence[Finding] = ()
    obstacle, fix = (first.found, first.fix) if first else ("", "")
    if first is None:
        try:
            found = list(_findings())
        except SandboxError as e:
            obstacle, fix = e.message, e.fix
    return Report(obstacle, fix, tuple(found), layers, time.monotonic() - start_s)


def _findings() -> Iterator[Finding]:
    names = [name for name in PROBES if name not in _IMPORTS]
    limits = LIMITS.beyond_this_process()
    joined = call(lambda: main(limits, names), limits)
    yield from _inside("joined", names, joined.stdout, joined.stderr)
    with ThreadPoolExecutor(2) as pool:
        fresh = pool.submit(run, _command([*PROBES]), LIMITS)
        checks = pool.map(lambda check: (check, check()), CHECKS)
        result = fresh.result()
        yield from _inside("fresh", [*PROBES], result.stdout, result.stderr)
        for check, words in checks:
            claim = (check.__doc__ or "").strip()
            yield Finding(check.__name__.strip("_"), "outside", claim, words, REPORT)


def _command(names: Sequence[str]) -> list[str]:
    code = (
        "import sys; sys.path[:0] = ['/']; "
        "from sandbox.probes import main; from sandbox.selftest import LIMITS; "
        f"main(LIMITS, {list(names)!r})"
    )
    return [sys.executable, "-I", "-c", code]


def _inside(way: Way, names: Sequence[str], stdout: bytes, stderr: bytes) -> Iterator[Finding]:
    told = dict(json.loads(line) for line in stdout.splitlines())
    words = stderr.decode(errors="replace").strip()[-300:]
    for name in names:
        found = told.get(name, f"{UNTOLD}: {words or 'without a message'}")
        yield Finding(name, way, PROBES[name].claim, found, PROBES[name].fix)


def _python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def _time_is_bounded() -> str:
    """A busy loop ends at its limit of wall-clock time."""
    start_s = time.monotonic()
    result = run(_python("while True: pass"), Limits(seconds=_SHORT_S))
    seconds = time.monotonic() - start_s
    is_good = result.state == "seconds" and seconds < _LONGEST_S
    return "" if is_good else f"{result.state} after {seconds:.1f} s"


_DAEMON = """
import os, sys, time
sleep = "import time; time.sleep(60)"
if not os.fork():
    os.setsid()
    if not os.fork():
        os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", sleep, {mark!r}])
    os._exit(0)
time.sleep(0.1)
"""


def _nothing_survives() -> str:
    """A process that detaches itself ends with the sandbox."""
    mark = f"survivor-{uuid.uuid4().hex}"
    result = run(_python(_DAEMON.format(mark=mark)))
    if not result.ok:
        return f"the run ended with {result.state} {result.code}: {result.stderr[-200:]!r}"
    return f"the process {pid} survived" if (pid := _process_with(mark)) else ""


def _process_with(mark: str) -> int | None:
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark.encode() in Path("/proc", name, "cmdline").read_bytes():
                return int(name)
        except OSError:
            continue
    return None


def _output_is_bounded() -> str:
    """A flood of output ends the run at its limit."""
    flood = "import os\nwhile True: os.write(1, bytes(4096))"
    result = run(_python(flood), Limits(output_bytes=_OUTPUT_BYTES))
    is_good = result.state == "output" and len(result.stdout) == _OUTPUT_BYTES
    return "" if is_good else f"{result.state} after {len(result.stdout):,} bytes"


CHECKS: Sequence[Callable[[], str]] = (_time_is_bounded, _nothing_survives, _output_is_bounded)
"""Assertions from outside; each returns what it found, "" if it holds."""


if __name__ == "__main__":  # for callers with threads: the report as JSON
    print(json.dumps(examine().to_json()))
