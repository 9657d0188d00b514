"""The decision whether untrusted work may run on this machine, and the enclosure of each child.

A child runs in a sandbox. If none can be built, the server runs only work on models that ship with
the program, and reports this. The user of a local server may allow work on their own models without
a sandbox (`unsandboxed_local`). No other work ever runs outside a sandbox.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Literal, NamedTuple

from app.jobs.enclosure import Enclosure
from app.jobs.inside import limits_of, program_alone, view_of
from app.jobs.limits import ShortageError
from app.jobs.task import Task
from compiler.errors import CompileError
from sandbox.join import Holder
from sandbox.limits import Limits as SandboxLimits
from sandbox.result import SandboxError
from sandbox.selftest import UNTOLD
from sandbox.view import Inputs

log = logging.getLogger("compilarium.sandbox")

State = Literal["unknown", "complete", "absent", "waived"]
"""`unknown`: not tested yet; each child tries to enter a sandbox. `waived`: absent, and the user's
setting permits work without it."""

SELF_TEST = (sys.executable, "-m", "sandbox.selftest")
_SELF_TEST_S = 60.0
_TRIES, _AGAIN_S = 3, 60.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of the self-test, with the obstacle and its exact remedy if the sandbox is not
    complete."""

    state: State
    obstacle: str = ""
    fix: str = ""


class Isolation:
    """Chooses the enclosures of children. `is_waived`: the user's models need no sandbox."""

    def __init__(self, *, is_waived: bool = False) -> None:
        self.is_waived = is_waived
        self.verdict = Verdict("unknown")
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None
        self.command: Sequence[str] = SELF_TEST
        self.again_s = 0.0
        """Time of the next test after a failure: the machine may have lacked processes or
        memory."""

    def begin_self_test(self, command: Sequence[str] = SELF_TEST) -> None:
        """Test the sandbox in the background, in a process of its own, once."""
        with self.lock:
            if self.thread is None:
                self.command = command
                self._start()

    def await_self_test(self) -> Verdict:
        """Return the verdict. If the first self-test is running, wait for its end."""
        with self.lock:
            is_first = self.again_s == 0.0
            if self.thread is not None and self.verdict.state == "absent" and not is_first:
                if not self.thread.is_alive() and monotonic() > self.again_s:
                    self._start()
        if self.thread is not None and is_first:
            self.thread.join(_SELF_TEST_S)
        return self.verdict

    def _start(self) -> None:
        thread = threading.Thread(target=self._test, name="sandbox-test", daemon=True)
        thread.start()
        self.thread = thread

    def require(self, requests: Sequence[Mapping[str, Any]]) -> None:
        """Refuse the work of these requests if it needs a sandbox and there is none.

        `requests` are the request of a job and those of the jobs that it examines.
        Errors: E-SANDBOX-ABSENT.
        """
        if not all(map(is_ours, requests)):
            self.require_for_strangers()

    def require_for_strangers(self) -> None:
        """Refuse work on untrusted input if there is no sandbox. Errors: E-SANDBOX-ABSENT."""
        verdict = self.await_self_test()
        if verdict.state == "absent":
            raise absent(verdict)

    def enclose(self, task: Task) -> tuple[Enclosure, Task]:
        """Return the enclosure for a task, and the task with the paths inside.

        The calling thread must outlive the enclosure.
        Errors: E-SANDBOX-ABSENT, and E-RESULT-ABSENT for an input that does not exist any more.
        """
        requests = (task.request, *task.compilations.values())
        self.require(requests)
        limits = limits_of(task.limits)
        inputs, inside = view_of(task)
        holder = self._holder(limits, inputs)
        if holder is not None:
            return Enclosure(limits, holder), inside
        self.require(requests)
        return Enclosure(limits), task

    def enclose_reader(self, limits: SandboxLimits) -> Enclosure:
        """Return the enclosure of a child that reads untrusted texts.

        The calling thread must outlive the enclosure. Errors: E-SANDBOX-ABSENT.
        """
        self.require_for_strangers()
        holder = self._holder(limits, program_alone())
        if holder is None:
            self.require_for_strangers()
        return Enclosure(limits, holder)

    def _holder(self, limits: SandboxLimits, inputs: Inputs) -> Holder | None:
        """Return a new sandbox, or None if no sandbox can be built.

        Errors: E-RESULT-ABSENT, and E-SANDBOX-ABSENT after a passing failure.
        """
        if self.verdict.state not in ("unknown", "complete"):
            return None
        try:
            return Holder(limits, inputs)
        except SandboxError as e:
            if not all(path.exists() for path in inputs.folders.values()):
                message = "the server no longer keeps an input of the job"
                raise CompileError("E-RESULT-ABSENT", message) from None
            if self.verdict.state == "complete":  # such as a lack of memory
                log.error("a sandbox could not be built: %s", e)
                passing = absent(Verdict("absent", e.message, e.fix))
                raise ShortageError(passing, counts=True) from None
            self._decide(e.message, e.fix)
            return None

    def _test(self) -> None:
        found = _tested(self.command)
        for _ in range(1, _TRIES):
            if not found.is_for_lack_of_time:
                break
            log.warning("the self-test of the sandbox is repeated: %s", found.obstacle)
            found = _tested(self.command)
        self._decide(found.obstacle, found.fix)
        self.again_s = monotonic() + _AGAIN_S

    def _decide(self, obstacle: str, fix: str) -> None:
        if not obstacle:
            self.verdict = Verdict("complete")
        elif self.is_waived:
            self.verdict = Verdict("waived", obstacle, fix)
            log.warning(
                "WITHOUT A SANDBOX: %s. Models and texts run with the rights of this user; open "
                "only your own. To isolate them: %s",
                obstacle,
                fix,
            )
        else:
            self.verdict = Verdict("absent", obstacle, fix)
            log.error(
                "no sandbox: %s. Uploads and written models are refused; the samples work. To "
                "isolate models: %s",
                obstacle,
                fix,
            )


class _Found(NamedTuple):
    """The finding of a self-test, "" if all assertions hold, and the remedy.

    On a busy machine, a test may lack time; this says nothing about the sandbox.
    """

    obstacle: str = ""
    fix: str = ""
    is_for_lack_of_time: bool = False


def _tested(command: Sequence[str]) -> _Found:
    """Run the self-test."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=_SELF_TEST_S,
            stdin=subprocess.DEVNULL,
            cwd=Path(__file__).resolve().parents[2],
        )
        report = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as e:
        words = f"the self-test of the sandbox failed: {type(e).__name__}"
        return _Found(words, "compilarium doctor", isinstance(e, subprocess.TimeoutExpired))
    if report["obstacle"]:
        return _Found(report["obstacle"], report["fix"])
    failed = [finding for finding in report["findings"] if not finding["ok"]]
    if not failed:
        return _Found()
    # A probe that has failed says more than one that did not run.
    first = min(failed, key=_is_untold)
    return _Found(f"not true of the sandbox: {first['claim']}", first["fix"], _is_untold(first))


def _is_untold(finding: Mapping[str, Any]) -> bool:
    return finding["found"].startswith(UNTOLD)


def absent(verdict: Verdict) -> CompileError:
    """Return the error of work that needs a sandbox."""
    return CompileError(
        "E-SANDBOX-ABSENT",
        f"this server cannot isolate models and texts: {verdict.obstacle}",
        hint=verdict.fix,
    )


_GIVEN = ("inputs", "text", "tuned", "files", "foreign")
"""Fields of requests that give arrays, a schedule, the schedules of a search, or an answer to an
exercise, and of requests for lessons that do not ship with the program."""


def is_ours(request: Mapping[str, Any]) -> bool:
    """Return whether children get no file or text of the request's client, only shipped models.

    Its other values are numbers, choices and names, which the server has checked.
    """
    is_upload = "upload" in request.get("model", {})
    return not (is_upload or any(request.get(name) for name in _GIVEN))
