"""Tests of the measuring slot: one child measures while the others are stopped."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from app.jobs import measuring_slot, worker_slot
from app.jobs.measuring_slot import MeasuringSlot, Member
from compiler import limits
from compiler.bench.machine_slot import MachineSlot
from tests.platforms import needs_file_locks


class Pipe:
    """The standard input of a child, which records messages."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def write(self, line: bytes) -> None:
        self.messages.append(json.loads(line))

    def flush(self) -> None:
        pass


class Process:
    """A forked process, as far as the slot uses it."""

    def __init__(self, pid: int) -> None:
        self.pid, self.stdin, self.is_released = pid, Pipe(), False


class Machine(MachineSlot):
    """The slot of the machine, which another process may have."""

    def __init__(self) -> None:
        super().__init__()
        self.is_taken = self.is_in_use_elsewhere = False

    def take(self) -> bool:
        if not self.is_in_use_elsewhere:
            assert not self.is_taken, "one measurement takes the slot once"
            self.is_taken = True
        return self.is_taken

    def give_back(self) -> None:
        self.is_taken = False


class Jobs:
    """Children with process ids from 1, a clock, and the signals that they received."""

    def __init__(self, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.machine = Machine()
        self.signals: list[tuple[int, int]] = []
        monkeypatch.setattr(measuring_slot.os, "killpg", lambda *sent: self.signals.append(sent))
        self.slot = MeasuringSlot(lambda: self.now, self.machine)
        self.stack = ExitStack()
        self.members = [self.join() for _ in range(n)]

    def join(self) -> Member:
        process: Any = Process(len(self.slot.members) + 1)
        return self.stack.enter_context(self.slot.member(process))

    def granted(self, member: Member) -> bool:
        pipe: Any = member.process.stdin
        return {"slot": True} in pipe.messages


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    made = Jobs(3, monkeypatch)
    with made.stack:
        yield made


def test_the_other_children_stop_and_their_time_does_not_count(jobs: Jobs) -> None:
    a, b, c = jobs.members
    jobs.slot.ask(a)
    assert jobs.granted(a)
    assert jobs.signals == [(2, signal.SIGSTOP), (3, signal.SIGSTOP)]
    late = jobs.join()
    assert jobs.signals[-1] == (4, signal.SIGSTOP)
    jobs.now = 2.0
    assert b.idle_seconds(jobs.now) == 2.0
    jobs.slot.give_back(a)
    assert jobs.signals[-3:] == [(n, signal.SIGCONT) for n in (2, 3, 4)]
    assert [m.idle_seconds(5.0) for m in (a, b, c, late)] == [0.0, 2.0, 2.0, 2.0]
    pipe: Any = b.process.stdin
    assert pipe.messages == [{"idle_s": 2.0}]


def test_measurements_take_turns_and_leave_the_others_as_much_time(jobs: Jobs) -> None:
    a, b, c = jobs.members
    jobs.slot.ask(a)
    jobs.slot.ask(b)
    jobs.slot.ask(c)
    jobs.now = 3.0
    jobs.slot.give_back(a)
    # Nobody but `a` can run, and `a` was not stopped: the next measurement starts at once.
    assert jobs.granted(b)
    assert not jobs.granted(c)
    jobs.now = 5.0
    jobs.slot.give_back(b)
    # `a` was stopped for two seconds and runs for as long now.
    assert not jobs.granted(c)
    jobs.now = 6.9
    jobs.slot.look()
    assert not jobs.granted(c)
    jobs.now = 7.0
    jobs.slot.look()
    assert jobs.granted(c)
    assert c.idle_s == 7.0


def test_a_child_that_ends_gives_the_slot_back(jobs: Jobs) -> None:
    a, b, _ = jobs.members
    with jobs.slot.member(a.process) as again:
        jobs.slot.ask(again)
        jobs.slot.ask(b)
        assert not jobs.granted(b)
    jobs.now = 1.0
    jobs.slot.look()
    assert jobs.granted(b)


def test_a_child_that_ends_while_it_waits_gets_no_slot(jobs: Jobs) -> None:
    a, b, _ = jobs.members
    jobs.slot.ask(a)
    with jobs.slot.member(b.process) as waiting:
        jobs.slot.ask(waiting)
    jobs.slot.give_back(a)
    assert jobs.slot.holder is None


def test_a_child_that_was_stopped_after_its_request_continues_and_is_granted(jobs: Jobs) -> None:
    a, b, _ = jobs.members
    jobs.slot.ask(a)
    jobs.now = 1.0
    jobs.slot.ask(b)  # the server reads the request after it has stopped the child
    assert jobs.signals[-1] == (2, signal.SIGCONT)
    assert b.idle_seconds(jobs.now) == 1.0
    jobs.now = 2.0
    jobs.slot.give_back(a)
    jobs.now = 4.0
    jobs.slot.look()
    assert jobs.granted(b)
    assert [sent for sent in jobs.signals if sent[0] == 2] == [
        (2, signal.SIGSTOP),
        (2, signal.SIGCONT),
    ]
    assert b.idle_s == 4.0


def test_the_slot_of_the_machine_is_held_while_a_child_measures(jobs: Jobs) -> None:
    a, b, _ = jobs.members
    jobs.slot.ask(a)
    assert jobs.machine.is_taken
    jobs.now = 1.0
    jobs.slot.give_back(a)
    assert not jobs.machine.is_taken
    with jobs.slot.member(b.process) as dying:
        jobs.now = 3.0
        jobs.slot.ask(dying)
        assert jobs.machine.is_taken
    assert not jobs.machine.is_taken


def test_a_measurement_waits_for_another_process_and_the_others_run_meanwhile(jobs: Jobs) -> None:
    a, b, _ = jobs.members
    jobs.machine.is_in_use_elsewhere = True
    usual_s = jobs.slot.look_every_s
    jobs.slot.ask(a)
    assert (jobs.granted(a), jobs.signals) == (False, [])
    assert jobs.slot.look_every_s < usual_s
    jobs.now = 1.9
    jobs.slot.look()
    assert not jobs.granted(a)
    jobs.machine.is_in_use_elsewhere = False
    jobs.slot.look()
    assert jobs.granted(a)
    assert jobs.machine.is_taken
    assert jobs.slot.look_every_s == usual_s
    # The limits of the child do not count its wait.
    assert (a.idle_s, b.idle_seconds(1.9)) == (1.9, 0.0)


def test_after_a_while_a_child_measures_beside_another_process_and_knows_it(jobs: Jobs) -> None:
    a, b, _ = jobs.members
    jobs.machine.is_in_use_elsewhere = True
    jobs.slot.ask(a)
    jobs.now = measuring_slot.MACHINE_WAIT_S
    jobs.slot.look()
    pipe: Any = a.process.stdin
    assert pipe.messages[-1] == {"slot": True, "shared": True}
    jobs.slot.ask(b)
    jobs.now = 3.0
    jobs.slot.give_back(a)
    assert not jobs.granted(b), "each measurement waits for the other process"


def test_a_child_that_asks_again_is_granted_once(jobs: Jobs) -> None:
    a, b, c = jobs.members
    with jobs.slot.member(c.process) as again:
        for _ in range(3):
            jobs.slot.ask(again)
        jobs.slot.ask(b)
        jobs.slot.ask(b)
    jobs.now = 1.0
    jobs.slot.look()
    assert jobs.granted(b)
    jobs.slot.give_back(b)
    jobs.slot.give_back(a)  # without the slot
    assert (jobs.slot.holder, len(jobs.slot.waiting)) == (None, 0)


@needs_file_locks
def test_the_lock_of_a_server_ends_with_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILARIUM_CACHE", str(tmp_path))
    machine = MachineSlot()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, b"y" if machine.take() else b"n")
        signal.pause()
    try:
        assert os.read(read, 1) == b"y"
        assert not machine.take()
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert machine.take()
    machine.give_back()
    other = MachineSlot()
    assert other.take()
    other.give_back()


def test_a_real_process_stops_and_continues() -> None:
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        signal.pause()
        os._exit(0)
    while os.getpgid(pid) != pid:
        pass
    try:
        process: Any = Process(pid)
        other: Any = Process(0)
        shared = MeasuringSlot()
        with shared.member(process), shared.member(other) as measuring:
            shared.ask(measuring)
            assert os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])
            shared.give_back(measuring)
            assert os.WIFCONTINUED(os.waitpid(pid, os.WCONTINUED)[1])
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_child_waits_for_the_grant_and_pauses_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[tuple[str, Any]] = []

    def say(name: str, data: Any) -> None:
        said.append((name, dict(data)))
        if data.get("wanted"):
            worker_slot.heard({"slot": True})

    monkeypatch.setenv("COMPILARIUM_CACHE", "")
    worker_slot.connect()
    monkeypatch.setattr(worker_slot, "LONGEST_S", 1e9)
    try:
        with worker_slot.measuring(say, 1) as held:
            held.pause()
            assert said == [("slot", {"wanted": True})]
            monkeypatch.setattr(worker_slot, "LONGEST_S", 0.0)
            held.pause()
    finally:
        worker_slot._connected.clear()
    assert [data["wanted"] for _, data in said] == [True, False, True, False]


def test_a_shared_slot_is_a_disturbance() -> None:
    def say(name: str, data: Any) -> None:
        if data.get("wanted"):
            worker_slot.heard({"slot": True, "shared": is_shared})

    worker_slot.connect()
    try:
        for is_shared in (True, False):
            with worker_slot.measuring(say, 1) as held:
                pass
            assert held.disturbance().is_exclusive == (not is_shared)
    finally:
        worker_slot._connected.clear()


def test_stopped_seconds_do_not_count_for_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_not_counted_seconds", 0.0)
    before = limits.monotonic()
    worker_slot.heard({"idle_s": 100.0})
    assert limits.monotonic() == pytest.approx(before - 100.0, abs=10.0)
