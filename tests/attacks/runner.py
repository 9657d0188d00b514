"""Run all attacks in one way, and print a JSON line for each: its name, and "" if all is well.

    python -m tests.attacks.runner fresh|joined|control [--without LAYER,...]

The tests start this program as root and as an ordinary user. `control` runs the code of the attacks
where it succeeds, and expects the opposite.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any
from unittest import mock

import sandbox
from sandbox import Limits, Result, join, landlock, launch
from tests.attacks import calls, files, network, processes, trust
from tests.attacks.declare import (
    ATTACKS,
    OUTSIDE,
    OUTSIDE_AS_ROOT,
    UNFILTERED,
    Attack,
    Outcome,
    given_to,
    program,
    told,
)
from tests.attacks.outside import POISON, prepared

DECLARING = (files, network, processes, calls, trust)
ALLOW_ALL = bytes.fromhex("060000000000ff7f")
"""A filter that allows every call."""

_TOGETHER = Limits(seconds=60, cpu_seconds=60)
"""Limits of a run of many attacks."""

_N_AT_ONCE = 4

Line = tuple[str, str]
"""The name of an attack, and "" if it ended as expected, else its end."""


Way = Callable[[str, Limits], Result]


def without(layers: Sequence[str], stack: ExitStack) -> None:
    """Remove layers from all sandboxes of this process."""
    if "cgroup" in layers:
        stack.enter_context(mock.patch.object(launch, "_parents", return_value=None))
    if "landlock" in layers:
        stack.enter_context(mock.patch.object(landlock, "version", return_value=0))
    if "filter" in layers:
        for module in (launch, join):
            patch = mock.patch.object(module, "filter_program", return_value=ALLOW_ALL)
            stack.enter_context(patch)


def fresh(code: str, limits: Limits) -> Result:
    return sandbox.run([sys.executable, "-c", code], limits)


def joined(code: str, limits: Limits) -> Result:
    limits = limits.beyond_this_process()
    return sandbox.call(lambda: exec(compile(code, "attack", "exec"), {}), limits)


def plain(code: str, limits: Limits) -> Result:
    """Run the code without a sandbox: only attacks that then do no harm."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, close_fds=False, timeout=_TOGETHER.seconds)
    return Result("exited", done.returncode, done.stdout, done.stderr, 0.0, 0)


def outcomes(
    attacks: Sequence[Attack], way: Way, given: Mapping[str, Any], limits: Limits
) -> Iterator[tuple[Attack, Outcome]]:
    """Yield the end of each attack in one run."""
    if attacks:
        result = way(program(attacks, given), limits)
        reports = told(result.stdout)
        for attack in attacks:
            yield attack, Outcome(result, reports.get(attack.name, {}))


def refusals(attacks: Sequence[Attack], way: Way, given: Mapping[str, Any]) -> Iterator[Line]:
    """Yield "" for each attack that was refused and left the world outside intact."""
    together = [attack for attack in attacks if not attack.is_alone]
    for attack, outcome in outcomes(together, way, given, _TOGETHER):
        yield attack.name, "" if attack.held.agrees(outcome) else str(outcome)

    def refusal(attack: Attack) -> Line:
        ((_, outcome),) = outcomes([attack], way, given, attack.limits)
        words = "" if attack.held.agrees(outcome) else str(outcome)
        if not words and attack.outside is not None:
            words = attack.outside(given_to(attack, given))
        return attack.name, words

    alone = [attack for attack in attacks if attack.is_alone]
    if way is joined:  # a process that forks should have no other threads
        yield from map(refusal, alone)
    else:
        with ThreadPoolExecutor(_N_AT_ONCE) as pool:
            yield from pool.map(refusal, alone)


def controls(attacks: Sequence[Attack], given: Mapping[str, Any]) -> Iterator[Line]:
    """Yield "" for each attack whose code is not refused where nothing refuses it."""
    outside = [attack for attack in attacks if attack.control in (OUTSIDE, OUTSIDE_AS_ROOT)]
    for attack, outcome in outcomes(outside, plain, given, _TOGETHER):
        yield attack.name, str(outcome) if attack.held.agrees(outcome) else ""
    for attack in attacks:
        if isinstance(attack.control, Limits):
            ((_, outcome),) = outcomes([attack], fresh, given, attack.control)
            yield attack.name, str(outcome) if attack.held.agrees(outcome) else ""
    with ExitStack() as stack:
        without(["filter", "landlock"], stack)
        unfiltered = [attack for attack in attacks if attack.control == UNFILTERED]
        together = [attack for attack in unfiltered if not attack.is_alone]
        alone = [[attack] for attack in unfiltered if attack.is_alone]
        for batch in (together, *alone):
            for attack, outcome in outcomes(batch, fresh, given, _TOGETHER):
                yield attack.name, str(outcome) if attack.held.agrees(outcome) else ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.runner")
    parser.add_argument("way", choices=["fresh", "joined", "control"])
    parser.add_argument("--without", default="")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    os.environ.update(POISON)
    chosen = [attack for name, attack in ATTACKS.items() if options.only in name]
    with prepared() as given, ExitStack() as stack:
        without(options.without.split(","), stack)
        if options.way == "control":
            lines = controls([a for a in chosen if has_control(a)], given)
        else:
            lines = refusals(chosen, {"fresh": fresh, "joined": joined}[options.way], given)
        for line in lines:
            print(json.dumps(line), flush=True)


def has_control(attack: Attack) -> bool:
    """Return whether this user can show that the attack succeeds elsewhere."""
    if attack.control == OUTSIDE_AS_ROOT:
        return os.geteuid() == 0
    return attack.control is not None


if __name__ == "__main__":
    main()
