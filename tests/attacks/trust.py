"""Attacks on the trust in what a sandbox receives and returns: environment, output, leftovers."""

from __future__ import annotations

import sys

from sandbox import Limits, run
from tests.attacks.declare import OUTSIDE, SHORT, attack, ends, gives, refused

FLOOD = Limits(seconds=5, output_bytes=1 << 20)


def next_run_is_clean(given):
    listing = "import os; print(os.listdir('/box'), os.listdir('/dev/shm'), 'attacked' in dir(os))"
    found = run([sys.executable, "-c", listing]).stdout
    return "" if found == b"[] [] False\n" else f"the next run found {found!r}"


@attack(gives([]), control=OUTSIDE)
def read_the_environment_of_the_parent(given):
    """Find a secret variable in the environments of all visible processes."""
    import os

    found = [name for name in os.environ if name == given["variable"]]
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/environ", "rb") as variables:
                if given["variable"].encode() in variables.read():
                    found.append(name)
        except OSError:
            continue
    return found


@attack(gives([]), control=OUTSIDE)
def inherit_poisoned_variables(given):
    """Be started with variables that load code."""
    import os

    return sorted(n for n in os.environ if n.startswith(("LD_", "PYTHON")) and "DONTWRITE" not in n)


@attack(gives([]), control=OUTSIDE)
def inherit_a_search_path(given):
    """Import modules from a folder that the parent names."""
    import subprocess
    import sys

    code = "import sys; print([p for p in sys.path if p == '/nowhere'])"
    found = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True)
    return eval(found.stdout)


@attack(gives("left"), outside=next_run_is_clean)
def leave_start_up_hooks(given):
    """Leave modules and hooks that the next Python in the same folder would import."""
    for name in ("sitecustomize.py", "usercustomize.py", "os.py", "json.py", "attacked.pth"):
        for folder in ("/box", "/dev/shm"):
            open(f"{folder}/{name}", "w").write("import os; os.attacked = True")
    return "left"


@attack(refused("EBADF"))
def fake_the_report_of_the_launcher(given):
    """Tell the supervisor that the sandbox is ready, or that the job is done."""
    import os

    for number in range(3, 256):
        try:
            os.write(number, b'ready{"event": "done", "data": {}}\n')
            return number
        except OSError as e:
            error = e
    raise error


@attack(ends("output"), limits=FLOOD)
def flood_the_output(given):
    """Write to the standard output without end, and without a line break."""
    import os

    while True:
        os.write(1, b"x" * 65536)


@attack(ends("output"), limits=FLOOD)
def flood_the_errors(given):
    """Write to the standard error without end."""
    import os

    while True:
        os.write(2, b"x" * 65536)


@attack(ends("seconds"), limits=SHORT)
def close_the_output(given):
    """Close all output, so that a reader sees its end, and run on."""
    import os
    import time

    for number in (0, 1, 2):
        os.close(number)
    time.sleep(60)


@attack(ends("seconds"), limits=SHORT)
def write_slowly(given):
    """Write a byte from time to time, so that the run seems to make progress."""
    import os
    import time

    while True:
        os.write(1, b".")
        time.sleep(0.01)


@attack(gives("written"))
def write_control_characters(given):
    """Write commands of terminals, and bytes that are no text."""
    import os

    os.write(1, b"\x1b]0;attacked\x07\x1b[2J\xff\xfe\x00\n")
    return "written"


@attack(gives(""))
def wait_for_input(given):
    """Read the standard input of the server."""
    import sys

    return sys.stdin.read() if sys.stdin else ""


@attack(refused("ENXIO", "ENOENT", "EACCES", "EROFS"))
def open_the_terminal(given):
    """Open the terminal in which the server was started."""
    open("/dev/tty", "r+b", buffering=0).close()
