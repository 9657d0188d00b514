"""Tests of platforms: the built-in platforms, parsing and printing, and routes over links."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.errors import CompileError
from compiler.ir.operator import OPERATORS, Cost
from compiler.place.check import check_schedule
from compiler.place.place import SCHEDULERS, place
from compiler.place.platform import Platform
from compiler.place.platform_text import load_platform, parse_platform, shipped
from tests.task_graphs import random_tasks

TEXT = """
name = "three"
words = "Two memories beside the home, one behind the other."
home = "a"

[[memory]]
name = "a"

[[memory]]
name = "b"
nbytes = 5000
keeps_weights = false

[[memory]]
name = "c"
handover_seconds = 0.5

[[device]]
name = "slow"
memory = "a"
flops_per_second = 100
bytes_per_second = 10.0
seconds_per_kernel = 2

[[device]]
name = "quick"
memory = "c"
flops_per_second = 1e4
bytes_per_second = 1e3
operators = ["conv", "add"]

[[link]]
name = "ab"
joins = ["a", "b"]
latency_seconds = 1
bytes_per_second = 1e6

[[link]]
name = "bc"
joins = ["b", "c"]
bytes_per_second = 2e6
channels = 3
"""


@pytest.mark.parametrize("name", shipped())
def test_what_ships_reads_back_as_it_prints(name: str) -> None:
    platform = load_platform(name)
    assert parse_platform(str(platform)) == platform
    assert platform.name == name
    assert platform.words.endswith(".")
    for device in platform.devices:
        assert (device.operators or frozenset()) <= set(OPERATORS)


def test_a_platform_reads_back_as_it_prints() -> None:
    platform = parse_platform(TEXT)
    platform = replace(platform, words='all of "this" \\ \t \x7f \N{SNOWMAN}')
    again = parse_platform(str(platform))
    assert again == platform
    assert again.memory_of["b"].nbytes == 5000
    assert not again.memory_of["b"].keeps_weights
    assert again.links[1].channels == 3


def test_ways_go_over_several_links() -> None:
    platform = parse_platform(TEXT)
    assert [h.link.name for h in platform.routes["a", "c"]] == ["ab", "bc"]
    assert platform.routes["a", "a"] == ()
    assert platform.seconds_between(1e6, "c", "a") == pytest.approx(1 + 1 + 0.5)
    assert platform.seconds_between(1e6, "a", "a") == 0


def test_of_ways_that_are_equally_fast_one_is_taken() -> None:
    """With parallel links, and a ring: the order of the links decides."""
    beside = parse_platform(TEXT + link("ab again", '"a", "b"', "latency_seconds = 1\n", "1e6"))
    assert [h.link.name for h in beside.routes["a", "c"]] == ["ab", "bc"]
    ring = parse_platform(TEXT + link("ca", '"c", "a"', "", "2e6"))
    assert [h.link.name for h in ring.routes["a", "b"]] == ["ca", "bc"]
    assert len(ring.routes) == 9


def link(name: str, joins: str, latency: str, speed: str) -> str:
    return f'[[link]]\nname = "{name}"\njoins = [{joins}]\n{latency}bytes_per_second = {speed}\n'


def test_a_device_takes_what_its_roofline_says() -> None:
    slow = parse_platform(TEXT).device_of["slow"]
    assert slow.seconds(Cost(1000, 30, 20)) == 12  # operations
    assert slow.seconds(Cost(100, 30, 20)) == 7  # bytes
    quick = parse_platform(TEXT).device_of["quick"]
    assert quick.has(("conv", "add"))
    assert not quick.has(("conv", "softmax"))


def changed(before: str, after: str) -> str:
    assert before in TEXT
    return TEXT.replace(before, after, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = ", "not TOML"),
        (f"name = 1{'0' * 5000}", "not TOML"),
        (changed("per_second = 100", f"per_second = 1{'0' * 400}"), "1e-15 to 1e+30"),
        (changed("per_second = 100", f"per_second = 0x1{'0' * 5000}"), "thousands of digits"),
        (changed("per_second = 100", "per_second = inf"), "1e-15 to 1e+30"),
        (changed("per_second = 100", "per_second = 1e-320"), "1e-15 to 1e+30"),
        (changed("latency_seconds = 1", "latency_seconds = -1"), "from 0 to"),
        (changed("latency_seconds = 1", "latency_seconds = 1e308"), "from 0 to"),
        (changed('home = "a"', 'home = "z"'), "'z' is not a memory"),
        (changed('home = "a"\n', ""), "needs home"),
        (changed("flops_per_second = 100", "flops_per_second = -1"), "1e-15 to"),
        (changed("flops_per_second = 100", 'flops_per_second = "1"'), "1e-15 to"),
        (changed("flops_per_second = 100", "flops_per_second = nan"), "1e-15 to"),
        (changed("flops_per_second = 100\n", ""), "needs flops_per_second"),
        (changed("nbytes = 5000", "nbytes = 0"), "positive integer"),
        (changed("nbytes = 5000", "nbytes = 5000\nsize = 3"), "unknown keys: 'size'"),
        (changed('memory = "c"', 'memory = "d"'), "quick is at 'd'"),
        (changed('joins = ["b", "c"]', 'joins = ["b", "e"]'), "joins e"),
        (changed('joins = ["b", "c"]', 'joins = ["b"]'), "at least two memories"),
        (changed('joins = ["b", "c"]', 'joins = ["a", "b"]'), "no links connect a with quick"),
        (changed('name = "quick"', 'name = "slow"'), "device slow is listed twice"),
        (changed('name = "a"', 'name = "a"\nnbytes = 9'), "no device has all operators"),
        (changed('["conv", "add"]', '"conv"'), "list of strings"),
        ('name = "x"\nhome = "a"\nmemory = 3', "must be an array of tables"),
        ('name = "x"\nhome = "a"', "1 to 64 devices"),
    ],
)
def test_what_makes_no_sense_is_said(text: str, words: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse_platform(text, "mine.toml")
    assert caught.value.code == "E-PLATFORM-TEXT"
    assert words in caught.value.message
    assert caught.value.where.source == "mine.toml"
    assert caught.value.hint


def test_what_is_no_toml_has_its_line() -> None:
    with pytest.raises(CompileError) as caught:
        parse_platform('name = "x"\nhome = = 3', "mine.toml")
    assert (caught.value.where.line, caught.value.where.column) == (2, 8)


def test_what_is_known_is_named_beside_what_is_not() -> None:
    with pytest.raises(CompileError) as caught:
        parse_platform(TEXT + "colour = 3\n")
    assert "joins, latency_seconds, bytes_per_second, channels" in caught.value.hint


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_the_slowest_and_quickest_that_can_be_said_are_placed(scheduler: str) -> None:
    text = changed("flops_per_second = 100", "flops_per_second = 1e-15")
    text = text.replace("bytes_per_second = 10.0", "bytes_per_second = 1e-15")
    text = text.replace("seconds_per_kernel = 2", "seconds_per_kernel = 1e30")
    text = text.replace("per_second = 1e4", "per_second = 1e30")
    text = text.replace("latency_seconds = 1", "latency_seconds = 1e30")
    tasks, platform = random_tasks("layered", 12, 3), parse_platform(text)
    made = place(tasks, platform, scheduler=scheduler, time_limit_s=0.5)
    assert not check_schedule(tasks, platform, made)
    assert 0 < made.makespan_seconds < 1e32


def test_a_platform_comes_from_a_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "mine.toml"
    path.write_text(TEXT)
    assert isinstance(load_platform(path), Platform)
    with pytest.raises(CompileError) as caught:
        load_platform("no such platform")
    assert caught.value.code == "E-PLATFORM-FILE"
    assert "two-cores" in caught.value.hint
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(CompileError):
        load_platform(path)
