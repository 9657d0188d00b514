"""Every attack is refused: as root and as an ordinary user, in both ways into the sandbox.

Each attack stays refused without the layers that some machines lack, a cgroup and Landlock: the
samples of the supervisor replace the cgroup, and the namespaces and the filter do what Landlock
does. The same code succeeds outside, or without the filter, or with wider limits.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.attacks.declare import ATTACKS
from tests.attacks.outside import SECRET, canary_is_intact, survivor
from tests.attacks.runner import DECLARING, has_control
from tests.users import USERS, environment, start_as

WAYS = ("fresh", "joined")
OPTIONAL_LAYERS = "cgroup,landlock"
N_AT_LEAST, N_CONTROLLED_AT_LEAST = 100, 60

RUNS = {
    **{(user, way): (user, way, "") for user in USERS for way in WAYS},
    **{("bare", way): (USERS[0], way, OPTIONAL_LAYERS) for way in WAYS},
    ("control", "control"): (USERS[0], "control", ""),
}
"""The runs of the runner: its user, its way, and the removed layers."""


def attack_all(user: str, way: str, layers: str) -> Mapping[str, str]:
    """Run all attacks, and return the failures by name, "" if all is well."""
    runner = [sys.executable, "-m", "tests.attacks.runner", way, "--without", layers]
    done = subprocess.run(
        [*start_as(user), *runner],
        cwd="/",
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(line) for line in done.stdout.splitlines())


Found = Mapping[tuple[str, str], "Future[Mapping[str, str]]"]


@pytest.fixture(scope="module")
def found() -> Found:
    """The results of all runs, of which a few run at the same time."""
    with ThreadPoolExecutor(3) as pool:
        return {key: pool.submit(attack_all, *run) for key, run in RUNS.items()}


def names(declared: Sequence[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", declared)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("user", USERS)
@names([*ATTACKS])
def test_an_attack_is_refused(found: Found, user: str, way: str, name: str) -> None:
    assert found[user, way].result()[name] == ""


@pytest.mark.parametrize("way", WAYS)
@names([*ATTACKS])
def test_an_attack_stays_refused_without_cgroup_and_landlock(
    found: Found, way: str, name: str
) -> None:
    assert found["bare", way].result()[name] == ""


@names([name for name, attack in ATTACKS.items() if has_control(attack)])
def test_an_attack_succeeds_where_nothing_refuses_it(found: Found, name: str) -> None:
    assert found["control", "control"].result()[name] == ""


def test_there_are_many_attacks_and_most_are_known_to_work() -> None:
    assert len(ATTACKS) >= N_AT_LEAST
    assert sum(map(has_control, ATTACKS.values())) >= (
        N_CONTROLLED_AT_LEAST if "root" in USERS else 0
    )
    assert all(attack.words.endswith(".") for attack in ATTACKS.values())
    files = {path.stem for path in Path(__file__).parent.glob("*.py")}
    helpers = {"declare", "outside", "runner", "test_attacks"}
    assert files - helpers == {module.__name__.split(".")[-1] for module in DECLARING}


def test_a_survivor_and_a_changed_file_are_seen(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "input('ready')", "mark-of-a-test"]
    with subprocess.Popen(command, stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        # Popen returns while the kernel still loads the program; /proc may have no command yet.
        assert process.stdout.read(5) == b"ready"
        assert str(process.pid) in survivor("mark-of-a-test")
    assert survivor("mark-of-a-test") == ""
    canary = tmp_path / "canary"
    canary.write_text(SECRET)
    assert canary_is_intact({"canary": canary}) == ""
    canary.write_text("changed")
    assert canary_is_intact({"canary": canary})
