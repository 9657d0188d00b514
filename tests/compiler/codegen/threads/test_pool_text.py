"""Tests of the set of targets with our own threads, for every target, so none is skipped unseen."""

from __future__ import annotations

import pytest

from compiler.codegen.jit import assembly
from compiler.codegen.threads.pool_text import has_thread_pool, pool_text
from compiler.runtime.threads import code_options
from compiler.targets.target import TARGETS, by_name, host
from tests.platforms import OWN_THREADS

X86 = {"x86-64", "x86-64-v3", "x86-64-v4", "x86-64-amx"}
ARM = {"aarch64", "neoverse-v1", "aarch64-sve256"}


def test_the_targets_that_are_linux_have_a_thread_pool() -> None:
    assert {name for name, target in TARGETS.items() if has_thread_pool(target)} == X86 | ARM


def test_this_machine_has_a_thread_pool_where_it_is_promised() -> None:
    assert has_thread_pool(host()) == OWN_THREADS
    assert (code_options(host(), 2)[0].forking == "pool") == OWN_THREADS


@pytest.mark.parametrize(("name", "clock"), [("x86-64-v3", "rdtsc"), ("aarch64", "cntvct_el0")])
def test_code_is_written_for_every_kind_of_linux(name: str, clock: str) -> None:
    target = by_name(name)
    assert clock in assembly(pool_text(target), target).lower()
