"""Tests of both ways into the sandbox: results, inputs, limits, and ends."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox import Holder, Inputs, Limits, Result, call, kernel, run
from sandbox.view import ENVIRONMENT, system_binds

MIB = 1 << 20
SLEEPS = "import time; time.sleep(60)"

Way = Callable[..., Result]


def fresh(code: str, limits: Limits | None = None, inputs: Inputs | None = None) -> Result:
    return run([sys.executable, "-I", "-S", "-c", code], limits, inputs)


def joined(code: str, limits: Limits | None = None, inputs: Inputs | None = None) -> Result:
    def execute() -> None:
        exec(compile(code, "<inside>", "exec"), {})

    return call(execute, (limits or Limits()).beyond_this_process(), inputs)


BOTH = pytest.mark.parametrize("way", [fresh, joined], ids=["fresh", "joined"])


@BOTH
def test_output_and_exit_code_come_back(way: Way) -> None:
    code = (
        "import sys; print('out'); print('err', file=sys.stderr); sys.stdout.flush(); sys.exit(3)"
    )
    result = way(code)
    assert (result.state, result.code) == ("exited", 3)
    assert (result.stdout, result.stderr) == (b"out\n", b"err\n")
    assert not result.ok
    assert way("print(1)").ok


@BOTH
def test_a_signal_is_told_from_an_exit(way: Way) -> None:
    result = way("import os; os.kill(os.getpid(), 11)")
    # Process 1 of a namespace ignores signals of its children; this process is not process 1.
    assert (result.state, result.code) == ("signalled", signal.SIGSEGV)


@BOTH
def test_inputs_are_files_and_folders_that_cannot_be_changed(way: Way, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "model").write_text("seen")
    inputs = Inputs({"/in/data": b"given"}, {"/folder": tmp_path}, {"LESSON": "7"})
    code = """
import os
print(open("/in/data").read(), open("/folder/model").read(), os.environ["LESSON"])
for path in ("/in/data", "/folder/model", "/folder/new"):
    try:
        open(path, "w")
    except OSError as e:
        print(e.strerror)
"""
    result = way(code, None, inputs)
    lines = result.stdout.decode().splitlines()
    assert lines[0] == "given seen 7", result.stderr
    assert set(lines[1:]) <= {"Read-only file system", "Permission denied"}
    assert len(lines) == 4
    assert (tmp_path / "model").read_text() == "seen"


@BOTH
def test_the_environment_is_exactly_the_declared_one(way: Way) -> None:
    result = way("import os; print(sorted(os.environ.items()))")
    assert result.stdout.decode().strip() == str(sorted(ENVIRONMENT.items()))


@BOTH
@pytest.mark.parametrize(
    ("code", "limits", "state"),
    [
        ("while True: pass", Limits(seconds=0.4), "seconds"),
        (SLEEPS, Limits(seconds=0.4), "seconds"),
        ("while True: pass", Limits(cpu_seconds=1), "seconds"),
        ("import os\nwhile True: os.write(1, bytes(4096))", Limits(output_bytes=MIB), "output"),
        ("import os\nwhile True: os.write(2, bytes(4096))", Limits(output_bytes=MIB), "output"),
    ],
    ids=["busy", "asleep", "processor", "stdout", "stderr"],
)
def test_a_limit_ends_the_run(way: Way, code: str, limits: Limits, state: str) -> None:
    result = way(code, limits)
    assert result.state == state
    assert len(result.stdout) <= limits.output_bytes
    assert result.seconds < 5


@BOTH
def test_memory_of_a_process_ends_at_the_limit(way: Way) -> None:
    result = way("bytearray(3 << 30)", Limits(memory_bytes=2 << 30))
    assert result.state == "exited"
    assert b"MemoryError" in result.stderr


@BOTH
def test_a_cancelled_run_ends(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = threading.Event()
    timer = threading.Timer(0.3, cancelled.set)
    timer.start()
    command = [sys.executable, "-I", "-S", "-c", SLEEPS]
    if way is fresh:
        result = run(command, cancelled=cancelled)
    else:
        result = call(lambda: time.sleep(60), cancelled=cancelled)
    timer.join()
    assert result.state == "cancelled"
    assert result.seconds < 5


def test_standard_input_is_given_and_cannot_be_written() -> None:
    code = "import os, sys\nprint(sys.stdin.read())\nos.write(0, b'x')"
    result = run([sys.executable, "-I", "-S", "-c", code], stdin=b"asked")
    assert result.stdout == b"asked\n"
    assert b"Bad file descriptor" in result.stderr


def test_an_unknown_command_is_reported_as_a_shell_does() -> None:
    result = run(["no-such-command"])
    assert (result.state, result.code) == ("exited", 127)
    assert b"no-such-command" in result.stderr


def test_a_joined_child_keeps_the_modules_of_its_parent() -> None:
    import json

    result = call(lambda: print(json.dumps([os.getpid(), os.getppid()])))
    (pid, parent) = json.loads(result.stdout)
    assert pid < 10, "the child has a number of the sandbox"
    assert parent == 0, "its parent is outside"


def forked(holder: Holder, keep: int) -> int:
    """Fork a child that joins, writes a byte to the descriptor `keep`, and sleeps."""
    pid = os.fork()
    if not pid:
        try:
            holder.enter(keep=(keep,))
            os.write(keep, b"\n")
            time.sleep(60)
        finally:
            os._exit(0)
    os.close(keep)
    return pid


def test_closing_a_holder_ends_the_child() -> None:
    holder = Holder()
    reading, writing = os.pipe()
    pid = forked(holder, writing)
    assert os.read(reading, 1) == b"\n"
    assert os.waitpid(pid, os.WNOHANG) == (0, 0)
    holder.close()
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    os.close(reading)


def test_a_kill_of_the_forked_child_ends_the_process_inside() -> None:
    with Holder() as holder:
        reading, writing = os.pipe()
        pid = forked(holder, writing)
        assert os.read(reading, 1) == b"\n"
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        start_s = time.monotonic()
        assert os.read(reading, 1) == b"", "the process inside keeps its pipe while it lives"
        assert time.monotonic() - start_s < 30
        os.close(reading)


def test_a_kill_before_the_process_inside_watches_its_parent_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    watch = kernel.die_with_parent

    def after_the_kill(*arguments: int) -> None:
        if os.getppid():  # not inside
            return watch(*arguments)
        os.write(writing, b"\n")
        time.sleep(1.0)
        return watch(*arguments)

    monkeypatch.setattr(kernel, "die_with_parent", after_the_kill)
    with Holder() as holder:
        pid = forked(holder, writing)
        assert os.read(reading, 1) == b"\n"
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert os.read(reading, 1) == b"", "a byte would mean that the process inside goes on"
        os.close(reading)


def children() -> set[str]:
    threads = Path("/proc/self/task").iterdir()
    return {pid for thread in threads for pid in (thread / "children").read_text().split()}


def test_no_descriptor_and_no_process_remains() -> None:
    fresh("print(1)")
    joined("print(1)")
    before, others = os.listdir("/proc/self/fd"), children()
    fresh("print(1)")
    joined("print(1)")
    assert len(os.listdir("/proc/self/fd")) == len(before)
    assert children() <= others


@BOTH
def test_a_folder_below_tmp_may_be_visible(way: Way, tmp_path: Path) -> None:
    """An installation may lie below /tmp, which is otherwise a link to the scratch folder."""
    folder = tmp_path / "seen"
    folder.mkdir(mode=0o755)
    (folder / "a.txt").write_text("visible")
    for parent in (tmp_path, *tmp_path.parents[:-2]):
        parent.chmod(parent.stat().st_mode | 0o011)
    code = "import os; print(open('/tmp/seen/a.txt').read(), os.access('/tmp', os.W_OK))"
    result = way(code, inputs=Inputs(folders={"/tmp/seen": folder}))
    assert result.stdout == b"visible False\n"


@BOTH
def test_tmp_is_the_scratch_folder_unless_the_program_is_below_tmp(way: Way) -> None:
    code = "import os; open('/tmp/a', 'w').close(); print(os.listdir('/box'))"
    if any(bind.target.startswith("/tmp/") for bind in system_binds()):
        code = "import os\ntry: open('/tmp/a', 'w')\nexcept OSError as e: print(e.errno == 30, 'a')"
    result = way(code)
    assert b"'a'" in result.stdout or b"True a" in result.stdout
