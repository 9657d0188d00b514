"""Tests of the units of systemd, by systemd itself where it is installed, and by their contents."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import pytest

from app.configuration import read_configuration
from app.jobs.supervisor_process import STOP_S
from tests.deploy.commands import DEPLOY, UNITS, command_lines, parse

Unit = Mapping[str, Sequence[str]]
SERVICES = ("compilarium", "compilarium-work")
"""The services whose processes build sandboxes."""
ENDS_SANDBOXES = (
    "RestrictNamespaces",
    "ProtectHostname",
    "ProtectKernelTunables",
    "ProtectKernelLogs",
    "ProtectControlGroups",
    "ProtectProc",
    "ProcSubset",
    "PrivateUsers",
    "MemoryDenyWriteExecute",
    "SystemCallFilter",
)
"""Options that take from bubblewrap, or from machine code, what they need."""


def unit(name: str) -> Unit:
    """The values of each setting, by section and name."""
    found: dict[str, list[str]] = {}
    section = ""
    for line in (UNITS / name).read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if re.fullmatch(r"\[\w+\]", line):
            section = line[1:-1]
            continue
        key, is_setting, value = line.partition("=")
        assert is_setting, line
        assert key.isalnum(), line
        found.setdefault(f"{section}.{key}", []).append(value)
    return found


def one(found: Unit, name: str) -> str:
    (value,) = found[name]
    return value


@pytest.mark.parametrize("path", sorted(UNITS.glob("*.service")), ids=lambda path: path.name)
def test_every_command_line_is_one_of_the_program(path: Path) -> None:
    found = unit(path.name)
    lines = [*found["Service.ExecStart"], *found.get("Service.ExecStartPost", ())]
    parsed = [parse(words) for line in lines for words in command_lines(line.replace("%%", "%"))]
    assert len(parsed) == 1
    assert one(found, "Service.User") == "compilarium"
    assert parsed[0].params["file"] == Path("/etc/compilarium/compilarium.toml")


def test_a_command_line_that_does_not_exist_is_found() -> None:
    for line in ("compilarium server", "compilarium serve --prot 8", "compilarium data"):
        (words,) = command_lines(f"/opt/bin/{line}")
        with pytest.raises(click.UsageError):
            parse(words)


@pytest.mark.parametrize("name", SERVICES)
def test_the_options_leave_bubblewrap_what_it_needs(name: str) -> None:
    found = unit(f"{name}.service")
    assert not [key for key in ENDS_SANDBOXES if f"Service.{key}" in found]
    text = (UNITS / f"{name}.service").read_text(encoding="utf-8")
    assert all(key in text for key in ENDS_SANDBOXES), "a comment says why they are absent"
    assert set(one(found, "Service.Delegate").split()) == {"memory", "pids"}
    assert "AF_NETLINK" in one(found, "Service.RestrictAddressFamilies").split()


@pytest.mark.parametrize("name", SERVICES)
def test_places_and_times_agree_with_the_settings(name: str) -> None:
    found = unit(f"{name}.service")
    settings = read_configuration({}, {}, DEPLOY / "compilarium.toml").settings
    state = f"/var/lib/{one(found, 'Service.StateDirectory')}"
    assert str(settings.data_folder) == state == one(found, "Service.WorkingDirectory")
    cache = f"/var/cache/{one(found, 'Service.CacheDirectory')}"
    assert one(found, "Service.Environment") == f"COMPILARIUM_CACHE={cache}"
    assert one(found, "Service.StateDirectoryMode") == "0700"
    stop_s = max(settings.stop_limit_s + STOP_S / 2, settings.stop_grace_s + STOP_S)
    assert int(one(found, "Service.TimeoutStopSec")) > stop_s
    assert one(found, "Service.KillMode") == "mixed", "the server ends its processes in order"


def test_the_timer_starts_the_backup() -> None:
    found = unit("compilarium-backup.timer")
    assert "Timer.Unit" not in found, "the service has the name of the timer"
    assert (UNITS / "compilarium-backup.service").is_file()
    assert re.fullmatch(r"\*-\*-\* \d\d:\d\d:\d\d", one(found, "Timer.OnCalendar"))
    service = unit("compilarium-backup.service")
    assert one(service, "Service.Type") == "oneshot"
    assert "/var/backups/compilarium" in one(service, "Service.ReadWritePaths").split()


def test_old_backups_are_removed_and_nothing_else(tmp_path: Path) -> None:
    """The command of the unit, on another folder."""
    line = one(unit("compilarium-backup.service"), "Service.ExecStartPost")
    folder = tmp_path / "backups"
    for name, days in (("2026-01-01T031000Z", 20), ("2026-01-14T031000Z", 3), ("other", 20)):
        (folder / name / "uploads").mkdir(parents=True)
        subprocess.run(["touch", "-d", f"{days} days ago", folder / name], check=True)
    command = shlex.split(line.replace("/var/backups/compilarium", str(folder)))
    subprocess.run(command, check=True, timeout=60)
    assert sorted(path.name for path in folder.iterdir()) == ["2026-01-14T031000Z", "other"]


def test_systemd_accepts_the_units_where_it_is_installed(tmp_path: Path) -> None:
    """Without systemd, the other tests compare the units with their declarations."""
    program = tmp_path / "compilarium"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for path in UNITS.iterdir():
        text = path.read_text(encoding="utf-8")
        text = text.replace("/opt/compilarium/bin/compilarium", str(program))
        # The account exists on the machine of an operator only.
        text = re.sub(r"(?m)^(User|Group)=.*", r"\1=daemon", text)
        (tmp_path / path.name).write_text(text)
    verify = shutil.which("systemd-analyze")
    if verify is not None:
        units = [str(tmp_path / path.name) for path in UNITS.iterdir()]
        done = subprocess.run(
            [verify, "verify", "--man=no", *units], capture_output=True, text=True, timeout=120
        )
        told = [line for line in done.stderr.splitlines() if "compilarium" in line]
        assert told == []
